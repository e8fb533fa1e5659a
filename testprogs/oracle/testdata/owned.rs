// What optimization does to variables of Rust: slices, strings, enums with data, boxes,
// closures, iterators, generics and traits.
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::rc::Rc;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Shape {
    Dot,
    Disc(f64),
    Rect { w: u32, h: u32 },
}

#[derive(Clone, Copy)]
struct Point {
    x: i32,
    y: i32,
}

struct Node {
    key: u32,
    next: Option<Box<Node>>,
}

trait Area {
    fn area(&self) -> f64;
}

impl Area for Shape {
    #[inline(never)]
    fn area(&self) -> f64 {
        match *self {
            Shape::Dot => 0.0,
            Shape::Disc(r) => observe_f(r * r * 3.0),
            Shape::Rect { w, h } => {
                let all = w * h;
                observe(all as i64);
                all as f64
            }
        }
    }
}

impl Area for Point {
    #[inline(never)]
    fn area(&self) -> f64 {
        let both = self.x * self.y;
        observe(both as i64);
        both as f64
    }
}

#[inline(never)]
fn observe(v: i64) -> i64 {
    black_box(v)
}

#[inline(never)]
fn observe_f(v: f64) -> f64 {
    black_box(v)
}

#[inline(never)]
fn slices(numbers: &[i32], text: &str, flag: bool) -> i64 {
    let mut sum = 0i64;
    for (i, n) in numbers.iter().enumerate() {
        sum += (*n as i64) * (i as i64 + 1);
        observe(sum);
    }
    let first = &numbers[1..];
    observe(first.len() as i64 + flag as i64);
    let upper = text.to_uppercase();
    observe(upper.len() as i64);
    sum + text.len() as i64
}

#[inline(never)]
fn boxes(depth: u32) -> u32 {
    let mut head: Option<Box<Node>> = None;
    for key in 0..depth {
        head = Some(Box::new(Node { key, next: head }));
        observe(key as i64);
    }
    let mut sum = 0;
    let mut at = &head;
    while let Some(node) = at {
        sum += node.key;
        at = &node.next;
        observe(sum as i64);
    }
    sum
}

#[inline(never)]
fn dynamic(what: &dyn Area, shape: Shape, at: Point) -> f64 {
    let a = what.area();
    observe(at.x as i64);
    let b = shape.area();
    observe_f(a + b) + at.y as f64
}

#[inline(never)]
fn closures(base: i32, list: Vec<i32>) -> i32 {
    let mut calls = 0;
    let mut add = |n: i32| {
        calls += 1;
        observe((n + base) as i64);
        n * base
    };
    let sum: i32 = list.iter().map(|n| add(*n)).sum();
    observe(calls as i64);
    sum
}

#[inline(never)]
fn generic<T: Copy + Into<i64>>(a: T, b: T) -> i64 {
    let left: i64 = a.into();
    observe(left);
    let right: i64 = b.into();
    observe(right);
    left * right
}

#[inline(never)]
fn shared(n: u8) -> usize {
    let rc = Rc::new(Point { x: n as i32, y: 4 });
    let other = Rc::clone(&rc);
    observe(other.x as i64);
    let tuple = (n, 'c', -2.5f32, true);
    let array = [n as u16; 5];
    observe(array[n as usize & 3] as i64 + tuple.0 as i64 + rc.y as i64);
    let wide = (n as u128) << 70;
    observe((wide >> 65) as i64);
    Rc::strong_count(&rc)
}

#[inline(never)]
fn maybe(n: i32) -> Result<Option<u8>, String> {
    observe(n as i64);
    match n {
        0 => Ok(None),
        1 => Ok(Some(7)),
        _ => Err(format!("number {n}")),
    }
}

fn main() {
    let mut total = 0i64;
    let mut tree = BTreeMap::new();
    let mut map: HashMap<u8, i32> = HashMap::new();
    for round in 0..3i32 {
        let list = vec![round, 5, 9];
        total += slices(&list, "some text", round == 1);
        total += boxes(round as u32 + 2) as i64;
        let p = Point { x: round, y: 3 };
        let shape = match round {
            0 => Shape::Dot,
            1 => Shape::Disc(1.5),
            _ => Shape::Rect { w: 3, h: 4 },
        };
        total += dynamic(&p, shape, p) as i64;
        total += dynamic(&shape, Shape::Disc(2.0), Point { x: 1, y: 2 }) as i64;
        total += closures(round + 1, list) as i64;
        total += generic(round, 6) + generic(round as u8, 3);
        total += shared(round as u8) as i64;
        if let Ok(Some(v)) = maybe(round) {
            total += v as i64;
        }
        tree.insert(round, total);
        map.insert(round as u8, round);
    }
    println!("{}", total != 0 && tree.len() == map.len());
}
