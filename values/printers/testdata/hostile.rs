// Values of Rust's library whose bytes are nonsense: ones, text, pointers to themselves,
// huge numbers.
#![allow(unused_variables)]
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, LinkedList, VecDeque};
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::rc::{Rc, Weak};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant, SystemTime};

trait Shape {
    fn area(&self) -> i32;
}
impl Shape for i32 {
    fn area(&self) -> i32 {
        *self
    }
}

fn junk<T>(kind: usize) -> MaybeUninit<[T; 1]> {
    let mut m: MaybeUninit<[T; 1]> = MaybeUninit::uninit();
    let size = std::mem::size_of::<T>();
    let at = Box::leak(vec![0usize; 64].into_boxed_slice()).as_mut_ptr();
    let word = [!0usize, 0x4141414141414141, at as usize, 1 << 40][kind];
    unsafe {
        for i in 0..64 {
            *at.add(i) = word;
        }
        std::ptr::copy_nonoverlapping(at as *const u8, m.as_mut_ptr() as *mut u8, size.min(512));
    }
    m
}

fn main() {
    let n: Box<dyn Shape> = Box::new(5);
    println!("{}", n.area());
    macro_rules! all {
        ($($a:ident $b:ident $c:ident $d:ident $t:ty),*) => {
            $(let $a = junk::<$t>(0); let $b = junk::<$t>(1); let $c = junk::<$t>(2); let $d = junk::<$t>(3);)*
            std::hint::black_box(($(&$a, &$b, &$c, &$d),*));
        };
    }
    all!(
        dyn0 dyn1 dyn2 dyn3 Box<dyn Shape>,
        weak0 weak1 weak2 weak3 Weak<i32>,
        rc0 rc1 rc2 rc3 Rc<i32>,
        rcd0 rcd1 rcd2 rcd3 Rc<dyn Shape>,
        list0 list1 list2 list3 LinkedList<i32>,
        path0 path1 path2 path3 PathBuf,
        m0 m1 m2 m3 Mutex<i32>,
        rw0 rw1 rw2 rw3 RwLock<Vec<i32>>,
        d0 d1 d2 d3 Duration,
        t0 t1 t2 t3 (Instant, SystemTime),
        c0 c1 c2 c3 (Cell<i32>, RefCell<i32>)
    );
    all!(
        ab0 ab1 ab2 ab3 AtomicBool,
        hm0 hm1 hm2 hm3 HashMap<i32, i32>,
        bm0 bm1 bm2 bm3 BTreeMap<i32, i32>,
        vd0 vd1 vd2 vd3 VecDeque<i32>,
        v0 v1 v2 v3 Vec<i32>,
        s0 s1 s2 s3 String
    );
    std::process::exit(0); // stop
}
