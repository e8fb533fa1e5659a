// Allocates blocks in the ways that programs of Rust do, and tells of which type each is: "= TYPE ADDRESS".
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

struct Node {
    next: Option<Box<Node>>,
    value: u64,
    name: String,
}
#[derive(Clone)]
struct Plain {
    a: u64,
    b: u32,
}
trait Shape {
    fn area(&self) -> f64;
}
struct Circle {
    r: f64,
    id: u64,
}
impl Shape for Circle {
    fn area(&self) -> f64 {
        self.r * 3.0 + self.id as f64
    }
}

#[inline(never)]
fn tell<T: ?Sized>(name: &str, p: *const T) {
    println!("= {} {:p}", name, p as *const u8);
}

#[inline(never)]
#[no_mangle]
fn blocks_told() {
    println!();
}

fn main() {
    let inner = Box::new(Node { next: None, value: 1, name: String::new() });
    let n = Box::new(Node { next: Some(inner), value: 2, name: String::from("a name of a node") });
    tell("blocktypes_rust::Node", &*n);
    tell("blocktypes_rust::Node", &**n.next.as_ref().unwrap());
    tell("[u8]", n.name.as_ptr());
    let v: Vec<Plain> = Vec::with_capacity(10);
    tell("[blocktypes_rust::Plain]", v.as_ptr());
    let mut w: Vec<u32> = Vec::new();
    for i in 0..100 {
        w.push(i);
    }
    tell("[u32]", w.as_ptr());
    let s: Box<dyn Shape> = Box::new(Circle { r: n.value as f64, id: 3 });
    tell("blocktypes_rust::Circle", &*s as *const dyn Shape as *const u8);
    let rc = Rc::new(RefCell::new(Plain { a: 1, b: 2 }));
    rc.borrow_mut().a += n.value;
    let arc = Arc::new(Plain { a: 1, b: 2 });
    let m = vec![Plain { a: 1, b: 2 }; 5];
    tell("[blocktypes_rust::Plain]", m.as_ptr());
    let lit = vec![1u64, 2, w.len() as u64];
    tell("[u64]", lit.as_ptr());
    let st = format!("hello {}", w.len());
    tell("[u8]", st.as_ptr());
    let b: Box<[u16]> = vec![7u16; 33].into_boxed_slice();
    tell("[u16]", b.as_ptr());
    let mut d: VecDeque<u64> = VecDeque::new();
    d.push_back(1);
    tell("[u64]", d.as_slices().0.as_ptr());
    blocks_told();
    println!("{}", s.area() + n.next.as_ref().map_or(0.0, |x| x.value as f64) + rc.borrow().b as f64 + m[1].a as f64 + arc.b as f64);
}
