// Enough of Rust for a few hundred rows: generic code, closures, iterators and traits
// in modules that compilers put into units of their own.
use std::collections::{BTreeMap, HashMap};
use std::fmt;

mod shapes {
    pub trait Shape {
        fn area(&self) -> f64;
        fn scaled(&self, by: f64) -> f64 {
            self.area() * by
        }
    }
    pub struct Square(pub f64);
    pub struct Circle {
        pub radius: f64,
    }
    impl Shape for Square {
        fn area(&self) -> f64 {
            self.0 * self.0
        }
    }
    impl Shape for Circle {
        fn area(&self) -> f64 {
            half(self.radius * self.radius) * 6.28
        }
    }
    #[inline]
    fn half(x: f64) -> f64 {
        x / 2.0
    }
    #[inline(never)]
    pub fn total(all: &[Box<dyn Shape>]) -> f64 {
        all.iter().map(|s| s.scaled(1.5)).filter(|a| *a > 0.0).sum()
    }
}

mod text {
    use super::HashMap;
    #[inline(always)]
    fn is_word(c: char) -> bool {
        c.is_alphanumeric() || c == '_'
    }
    #[inline(never)]
    pub fn count(s: &str) -> HashMap<String, usize> {
        let mut m = HashMap::new();
        for w in s.split(|c| !is_word(c)).filter(|w| !w.is_empty()) {
            *m.entry(w.to_lowercase()).or_insert(0) += 1;
        }
        m
    }
    #[inline(never)]
    pub fn longest<'a>(words: &'a [String]) -> Option<&'a str> {
        let mut best: Option<&str> = None;
        for w in words {
            match best {
                Some(b) if b.len() >= w.len() => {}
                _ => best = Some(w),
            }
        }
        best
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(i64),
    Plus,
    Times,
    Open,
    Close,
}

#[derive(Debug)]
enum Bad {
    Char(char),
    End,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Bad::Char(c) => write!(f, "character {c}"),
            Bad::End => write!(f, "end"),
        }
    }
}

#[inline(never)]
fn scan(s: &str) -> Result<Vec<Token>, Bad> {
    let mut out = Vec::new();
    let mut it = s.chars().peekable();
    while let Some(c) = it.next() {
        out.push(match c {
            ' ' => continue,
            '+' => Token::Plus,
            '*' => Token::Times,
            '(' => Token::Open,
            ')' => Token::Close,
            '0'..='9' => {
                let mut n = c as i64 - '0' as i64;
                while let Some(d) = it.peek().and_then(|d| d.to_digit(10)) {
                    n = n * 10 + d as i64;
                    it.next();
                }
                Token::Number(n)
            }
            other => return Err(Bad::Char(other)),
        });
    }
    Ok(out)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }
    fn take(&mut self) -> Result<Token, Bad> {
        let t = self.peek().cloned().ok_or(Bad::End)?;
        self.at += 1;
        Ok(t)
    }
    fn sum(&mut self) -> Result<i64, Bad> {
        let mut n = self.product()?;
        while self.peek() == Some(&Token::Plus) {
            self.take()?;
            n += self.product()?;
        }
        Ok(n)
    }
    fn product(&mut self) -> Result<i64, Bad> {
        let mut n = self.atom()?;
        while self.peek() == Some(&Token::Times) {
            self.take()?;
            n *= self.atom()?;
        }
        Ok(n)
    }
    fn atom(&mut self) -> Result<i64, Bad> {
        match self.take()? {
            Token::Number(n) => Ok(n),
            Token::Open => {
                let n = self.sum()?;
                self.take()?;
                Ok(n)
            }
            t => Err(Bad::Char(format!("{t:?}").chars().next().unwrap())),
        }
    }
}

#[inline(never)]
fn sorted<T: Ord + Clone>(list: &[T]) -> Vec<T> {
    let mut v = list.to_vec();
    v.sort_by(|a, b| b.cmp(a));
    v.dedup();
    v
}

#[inline(never)]
fn tree(n: u64) -> BTreeMap<u64, String> {
    (0..n).map(|i| (i * 7 % 13, format!("{i:x}"))).collect()
}

fn main() {
    let n = std::env::args().count() as u64;
    let all: Vec<Box<dyn shapes::Shape>> = vec![Box::new(shapes::Square(n as f64)), Box::new(shapes::Circle { radius: 2.0 })];
    println!("{}", shapes::total(&all));
    let words = text::count("the quick brown fox jumps over the lazy dog");
    let list: Vec<String> = words.keys().cloned().collect();
    println!("{:?} {}", text::longest(&list), words["the"]);
    for s in ["1 + 2 * (3 + 4)", "2 *", "x"] {
        let r = scan(s).and_then(|tokens| Parser { tokens, at: 0 }.sum());
        match r {
            Ok(v) => println!("{s} = {v}"),
            Err(e) => println!("{s}: {e}"),
        }
    }
    println!("{:?} {:?}", sorted(&[3, 1, 2, 3]), sorted(&list));
    println!("{}", tree(n + 9).values().fold(String::new(), |a, b| a + b));
}
