// Elements of collections behind references, and methods of traits.
use std::collections::VecDeque;

trait Area {
    fn area(&self) -> i32;
    fn twice(&self) -> i32 {
        2 * self.area()
    }
}

struct Square {
    side: i32,
}

struct Circle(i32);

impl Area for Square {
    fn area(&self) -> i32 {
        self.side * self.side
    }
}

impl Area for Circle {
    fn area(&self) -> i32 {
        3 * self.0
    }
}

#[inline(never)]
fn work(recent: &VecDeque<i32>, list: &Vec<Square>, part: &[i32], array: [i32; 3], shape: &dyn Area, boxed: Box<dyn Area>) -> i32 {
    let mut square = Square { side: 7 };
    let bytes = vec![1u8, 2, 3];
    square.side += bytes[0] as i32; // line: work
    recent[0] + list[1].side + part[0] + array[1] + shape.area() + boxed.area() + square.twice() + shape.twice()
}

fn main() {
    let mut recent = VecDeque::with_capacity(4);
    for i in 0..6 {
        if recent.len() == 4 {
            recent.pop_front();
        }
        recent.push_back(i * 10);
    }
    let list = vec![Square { side: 3 }, Square { side: 4 }];
    let part = [5, 6, 7];
    println!("{}", work(&recent, &list, &part[1..], [1, 2, 3], &list[0], Box::new(Circle(2))));
}
