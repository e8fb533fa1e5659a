use std::collections::HashMap;
struct Buffer { data: Vec<u8> }
impl Buffer {
    fn grow(&mut self, n: usize) { self.data.resize(self.data.len() + n, 0); }
}
trait Size { fn size(&self) -> usize; fn twice(&self) -> usize { self.size() * 2 } }
impl Size for Buffer { #[inline(never)] fn size(&self) -> usize { self.data.len() } }
mod inner { #[inline(never)] pub fn largest<T: PartialOrd + Copy>(a: T, b: T) -> T { if a > b { a } else { b } } }
fn main() {
    let mut b = Buffer { data: Vec::new() };
    b.grow(std::env::args().count());
    let mut m: HashMap<String, usize> = HashMap::new();
    m.insert("x".to_string(), b.twice());
    let add = |x: usize| x + b.size();
    println!("{} {} {} {:?}", add(2), inner::largest(1, 2), inner::largest(1.5, 2.5), m.get("x"));
}
