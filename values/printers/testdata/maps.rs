use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::cell::{Cell, RefCell};
fn main() {
    let mut hm = HashMap::new(); for i in 0..3 { hm.insert(i, format!("v{i}")); }
    let hs: HashSet<u64> = vec![7].into_iter().collect();
    let he: HashMap<u8, u8> = HashMap::new();
    let mut bm = BTreeMap::new(); for i in 0..100 { bm.insert(i, i * i); }
    let bs: BTreeSet<&str> = vec!["a", "b"].into_iter().collect();
    let be: BTreeMap<i32, i32> = BTreeMap::new();
    let bk: BTreeMap<String, u8> = vec![("k".to_string(), 1)].into_iter().collect();
    let mut vd: VecDeque<i32> = VecDeque::with_capacity(4); for i in 0..4 { vd.push_back(i); } vd.pop_front(); vd.push_back(9);
    let arc_str: std::sync::Arc<str> = "arc str".into(); let arc_slice: std::sync::Arc<[u16]> = vec![3, 4].into(); let vec = vec![10u64, 20, 30];
    let vz: VecDeque<()> = VecDeque::new();
    let bh: BinaryHeap<i32> = vec![1, 5, 2].into_iter().collect();
    let cell = Cell::new(5); let rc = RefCell::new(vec![1, 2]);
    println!("{:?} {:?} {:?} {:?}", hm, hs, he, bm.len()); // stop
    println!("{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}", bs, be, bk, vd, vz, bh, cell, rc);
}
