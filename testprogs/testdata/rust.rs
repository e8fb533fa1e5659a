// A Rust program: a String and a Vec that grow, boxes, a generic function
// that is inlined, a HashMap, and threads.
use std::collections::HashMap;
use std::thread;

#[inline(always)]
fn collect_all<T: Clone>(item: &T, n: usize) -> Vec<T> {
    let mut v = Vec::new();
    for _ in 0..n {
        v.push(item.clone());
    }
    v
}

#[inline(never)]
fn grow_string(n: usize) -> String {
    let mut s = String::new();
    for i in 0..n {
        s.push((b'a' + (i % 26) as u8) as char);
    }
    s
}

struct Table {
    rows: HashMap<u32, Box<[u8; 500]>>,
}

impl Table {
    #[inline(never)]
    fn fill(&mut self, n: u32) {
        for i in 0..n {
            self.rows.insert(i, Box::new([i as u8; 500]));
        }
    }
}

fn main() {
    let s = grow_string(2000);
    let numbers = collect_all(&7u64, 300);
    let mut table = Table { rows: HashMap::new() };
    table.fill(20);
    let big = vec![1u8; 3 << 20];
    let workers: Vec<_> = (0..3u64)
        .map(|i| thread::spawn(move || collect_all(&i, 1000).iter().sum::<u64>()))
        .collect();
    let total: u64 = workers.into_iter().map(|w| w.join().unwrap()).sum();
    println!("{} {} {} {} {}", s.len(), numbers.len(), table.rows.len(), big.len(), total);
}
