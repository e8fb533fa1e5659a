// Values of Rust's library that hold others, and what is behind trait objects.
#![allow(unused_variables, dead_code)]
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, LinkedList};
use std::ffi::{CString, OsString};
use std::num::{NonZeroU32, NonZeroI64};
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant, SystemTime};

#[derive(Debug)]
struct Point {
    x: i32,
    y: i32,
}
trait Shape {
    fn area(&self) -> i32;
}
impl Shape for Point {
    fn area(&self) -> i32 {
        self.x * self.y
    }
}
struct Circle(i32);
impl Shape for Circle {
    fn area(&self) -> i32 {
        3 * self.0 * self.0
    }
}

fn main() {
    let b = Box::new(Point { x: 1, y: 2 });
    let shape: Box<dyn Shape> = Box::new(Point { x: 3, y: 4 });
    let other: Box<dyn Shape> = Box::new(Circle(5));
    let point = Point { x: 6, y: 7 };
    let by_ref: &dyn Shape = &point;
    let rc_dyn: Rc<dyn Shape> = Rc::new(Circle(8));
    let f: Box<dyn Fn(i32) -> i32> = Box::new(|n| n + 1);
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Circle(1)), Box::new(Point { x: 1, y: 1 })];
    let rc = Rc::new(Point { x: 9, y: 10 });
    let weak: Weak<Point> = Rc::downgrade(&rc);
    let dangling: Weak<Point> = Weak::new();
    let arc = Arc::new(Mutex::new(5));
    let aweak = Arc::downgrade(&arc);
    let mut list = LinkedList::new();
    list.push_back(1);
    list.push_back(2);
    list.push_back(3);
    let nolist: LinkedList<i32> = LinkedList::new();
    let path = Path::new("/usr/lib");
    let buf = PathBuf::from("/tmp/x");
    let os = OsString::from("os");
    let c = CString::new("cstr").unwrap();
    let m = Mutex::new(vec![1, 2]);
    let held = Mutex::new(7);
    let guard = held.lock().unwrap();
    let rw = RwLock::new("text".to_string());
    let reading = rw.read().unwrap();
    let cell = Cell::new(3);
    let refcell = RefCell::new(Point { x: 1, y: 1 });
    let borrowed = refcell.borrow_mut();
    let once: OnceCell<i32> = OnceCell::new();
    let d = Duration::new(1, 500_000_000);
    let dz = Duration::from_millis(0);
    let now = Instant::now();
    let st = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let nz = NonZeroU32::new(5).unwrap();
    let nzi = NonZeroI64::new(-5).unwrap();
    let onz = NonZeroU32::new(0);
    let ab = AtomicBool::new(true);
    let ai = AtomicI32::new(-3);
    let au = AtomicUsize::new(4);
    let opt = Some(Point { x: 1, y: 2 });
    let none: Option<i32> = None;
    let mut hm = HashMap::new();
    hm.insert("one".to_string(), 1);
    hm.insert("two".to_string(), 2);
    let mut bm = BTreeMap::new();
    bm.insert(1, "a");
    bm.insert(2, "b");
    let v = vec![10, 20, 30];
    let s = "hello".to_string();
    let sl = &v[1..];
    let wrap = std::num::Wrapping(5);
    let area = shape.area() + other.area() + by_ref.area() + rc_dyn.area() + f(1); // stop
    println!("{} {:?} {:?} {:?} {:?}", area, b, list, guard, reading);
    println!("{:?} {:?} {:?} {:?} {:?} {:?}", path, buf, os, c, m, cell);
    println!("{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}", borrowed, once, d, dz, now, st, nz, nzi);
    println!("{:?} {} {} {} {:?}", onz, ab.load(Ordering::Relaxed), ai.load(Ordering::Relaxed), au.load(Ordering::Relaxed), opt);
    println!("{:?} {:?} {:?} {:?} {:?} {:?} {:?}", none, hm, bm, v, s, sl, wrap);
    println!("{} {} {} {} {}", weak.strong_count(), dangling.strong_count(), aweak.strong_count(), nolist.len(), shapes.len());
    println!("{}", rc.x);
}
