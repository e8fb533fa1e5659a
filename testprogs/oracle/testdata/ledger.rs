// Iterators, a map and strings of Rust, inlined by the optimizer, to step through.
use std::collections::BTreeMap;
use std::hint::black_box;

struct Entry {
    name: String,
    amounts: Vec<i64>,
}

impl Entry {
    #[inline(always)]
    fn sum(&self) -> i64 {
        let mut total = 0;
        for a in &self.amounts {
            total += *a;
        }
        total
    }
}

struct Ledger {
    entries: BTreeMap<u32, Box<Entry>>,
    posted: usize,
}

impl Ledger {
    #[inline(never)]
    fn post(&mut self, id: u32, amount: i64) -> i64 {
        let entry = self.entries.entry(id).or_insert_with(|| {
            Box::new(Entry { name: format!("account {}", id), amounts: Vec::new() })
        });
        entry.amounts.push(amount);
        self.posted += 1;
        let balance = entry.sum();
        if balance < 0 {
            black_box(&entry.name);
        }
        balance
    }

    #[inline(never)]
    fn report(&self) -> Vec<i64> {
        let mut all = Vec::new();
        for (id, e) in &self.entries {
            let sum = e.sum();
            all.push(sum + *id as i64);
        }
        all
    }
}

#[inline(never)]
fn work(ledger: &mut Ledger) -> i64 {
    let mut last = 0;
    for i in 0..6 {
        last += ledger.post(i % 3, 10 - 3 * i as i64);
    }
    let sums = ledger.report();
    last += sums[0];
    drop(sums);
    last
}

fn main() {
    let mut ledger = Ledger { entries: BTreeMap::new(), posted: 0 };
    let n = work(black_box(&mut ledger));
    println!("{} {}", n, ledger.posted);
}
