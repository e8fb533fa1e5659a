// Functions of each shape that Rust returns values in: f01, f02 ...
#![allow(dead_code, unused_must_use)]
use std::hint::black_box as bb;
use std::time::Duration;
#[derive(Clone, Copy)] struct P2 { x: f64, y: f64 }
struct I2 { x: i32, y: i32 }
#[repr(C)] struct C2 { x: i32, y: i32 }
struct T3 { a: u32, b: u32, c: u32 }
struct S3 { a: u64, b: u64, c: u64 }
struct M { a: u8, b: f64 }
struct W(f32);
enum Shape { Dot, Line(u32), Box { w: u32 } }
enum Mix { A(u8), B(f32), C }
#[inline(never)] fn f01() -> u8 { bb(7) }
#[inline(never)] fn f02() -> f64 { bb(2.5) }
#[inline(never)] fn f03() -> P2 { bb(P2 { x: 1.5, y: 2.5 }) }
#[inline(never)] fn f04() -> I2 { bb(I2 { x: -1, y: 2 }) }
#[inline(never)] fn f05() -> C2 { bb(C2 { x: -1, y: 2 }) }
#[inline(never)] fn f06() -> T3 { bb(T3 { a: 1, b: 2, c: 3 }) }
#[inline(never)] fn f07() -> S3 { bb(S3 { a: 1, b: 2, c: 3 }) }
#[inline(never)] fn f08() -> M { bb(M { a: 1, b: 2.5 }) }
#[inline(never)] fn f09() -> W { bb(W(0.5)) }
#[inline(never)] fn f10() -> Shape { bb(Shape::Line(5)) }
#[inline(never)] fn f11() -> Shape { bb(Shape::Dot) }
#[inline(never)] fn f12() -> Mix { bb(Mix::B(1.5)) }
#[inline(never)] fn f13() -> Option<i32> { bb(Some(-3)) }
#[inline(never)] fn f14() -> Option<f64> { bb(Some(3.5)) }
#[inline(never)] fn f15() -> Option<Box<i32>> { bb(Some(Box::new(4))) }
#[inline(never)] fn f16() -> &'static str { bb("text") }
#[inline(never)] fn f17() -> String { bb(String::from("owned")) }
#[inline(never)] fn f18() -> Vec<u8> { bb(vec![1, 2, 3]) }
#[inline(never)] fn f19() -> (u8, u16) { bb((1, 2)) }
#[inline(never)] fn f20() -> (f32, u32) { bb((1.5, 2)) }
#[inline(never)] fn f21() -> Result<u32, String> { bb(Ok(3)) }
#[inline(never)] fn f22() -> Result<u32, u8> { bb(Err(3)) }
#[inline(never)] fn f23() -> i128 { bb(-5) }
#[inline(never)] fn f24() -> [u16; 3] { bb([1, 2, 3]) }
#[inline(never)] fn f25() -> Duration { bb(Duration::from_millis(1500)) }
#[inline(never)] fn f26() -> bool { bb(true) }
#[inline(never)] fn f27() -> char { bb('x') }
#[inline(never)] fn f28() {}
#[inline(never)] fn f29() -> Option<&'static str> { bb(Some("some")) }
#[inline(never)] fn f30() -> Shape { bb(Shape::Box { w: 9 }) }
#[inline(never)] fn f31() -> Option<u8> { bb(None) }
#[inline(never)] fn f32() -> [f32; 2] { bb([1.5, 2.5]) }
#[no_mangle] #[inline(never)] extern "C" fn f33() -> C2 { bb(C2 { x: 3, y: 4 }) }
#[inline(never)] fn f34() -> ((u32, u32), u32) { bb(((1, 2), 3)) }
#[inline(never)] fn f35() -> Option<(u32, u32)> { bb(Some((1, 2))) }
#[inline(never)] fn f36() -> Option<char> { bb(Some('y')) }
#[inline(never)] fn f37() -> std::cmp::Ordering { bb(std::cmp::Ordering::Less) }
fn main() {
    bb(f01()); bb(f02()); bb(f03()); bb(f04()); bb(f05()); bb(f06()); bb(f07()); bb(f08()); bb(f09()); bb(f10());
    bb(f11()); bb(f12()); bb(f13()); bb(f14()); bb(f15()); bb(f16()); bb(f17()); bb(f18()); bb(f19()); bb(f20());
    bb(f21()); bb(f22()); bb(f23()); bb(f24()); bb(f25()); bb(f26()); bb(f27()); bb(f28()); bb(f29()); bb(f30());
    bb(f31()); bb(f32()); bb(f33()); bb(f34()); bb(f35()); bb(f36()); bb(f37());
}
