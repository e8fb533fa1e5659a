use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
#[derive(Debug, Clone)]
struct Point { x: i32, y: i32 }
struct Unit;
struct Pair(u8, char);
struct Mixed { a: u8, b: u64, c: u16 }
#[derive(Debug)]
enum Shape { Empty, Circle(f64), Rect { w: u32, h: u32 } }
static COUNT: u32 = 77;
#[inline(never)]
fn work(n: i32, s: &str, p: &Point, sl: &[i32]) -> i32 {
    let st = String::from("owned"); let v = vec![1u16, 2, 3]; let vs = vec![String::from("a")];
    let o1 = Some(5); let o2: Option<i32> = None; let ob: Option<Box<i32>> = Some(Box::new(3)); let on: Option<&Point> = None;
    let r1: Result<i32, String> = Ok(1); let r2: Result<i32, String> = Err("bad".to_string());
    let e1 = Shape::Empty; let e2 = Shape::Circle(1.5); let e3 = Shape::Rect { w: 2, h: 3 };
    let t = (1, 2.5f32, 'z'); let arr = [1u8, 2, 3]; let b = Box::new(Point { x: 1, y: 2 }); let pr = Pair(1, 'c'); let mx = Mixed { a: 1, b: 2, c: 3 }; let un = Unit;
    let rc = Rc::new(9); let arc = Arc::new(10); let flag = true; let big = 1u128 << 100; let unit = ();
    let mut hm = HashMap::new(); hm.insert(1, 2);
    let f = 2.5f64; let c = 'é';
    let total = n + s.len() as i32 + p.x + sl[0] + v.len() as i32 + o1.unwrap() + t.0 + arr[0] as i32 + b.x + *rc + *arc + hm.len() as i32;
    /* stop */ println!("{} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {} {} {} {:?} {} {}", total, st, vs, o2, ob, on, r1, r2, e1, (e2, e3), pr.0, pr.1, flag as u8, unit, f, c); let _ = (&mx, &un, big, mx.a as u64 + mx.b + mx.c as u64);
    total
}
fn main() { let p = Point { x: 3, y: 4 }; println!("{}", work(7, "hi", &p, &[4, 5, 6]) + COUNT as i32); }
