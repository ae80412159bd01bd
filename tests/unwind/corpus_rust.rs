// SPDX-License-Identifier: MIT
// Corpus: traits, closures, iterators, formatting, panics that are caught.
use std::collections::BTreeMap;
use std::panic;

#[no_mangle]
#[inline(never)]
pub extern "C" fn work_start() {
    std::hint::black_box(1);
}

trait Shape {
    fn area(&self, depth: u32) -> f64;
}

struct Square(f64);

impl Shape for Square {
    #[inline(never)]
    fn area(&self, depth: u32) -> f64 {
        if depth == 0 {
            self.0
        } else {
            Square(self.0 + 1.0).area(depth - 1) + self.0
        }
    }
}

#[inline(never)]
fn text(seed: u64) -> usize {
    let mut names = BTreeMap::new();
    for i in 0..10u64 {
        names.insert(format!("name {}", seed.wrapping_mul(i) % 17), i);
    }
    let mut list: Vec<String> = names.keys().cloned().collect();
    list.sort_by(|a, b| b.cmp(a));
    list.iter().map(|name| name.len()).sum()
}

#[inline(never)]
fn panicking(depth: u32) -> u32 {
    if depth == 0 {
        panic!("on purpose");
    }
    panicking(depth - 1) + 1
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    work_start();
    let shape: Box<dyn Shape> = Box::new(Square(1.0));
    let mut round = 0u64;
    loop {
        round += 1;
        std::hint::black_box(shape.area((round % 8) as u32));
        std::hint::black_box(text(round));
        let _ = std::hint::black_box(panic::catch_unwind(|| panicking((round % 4) as u32)));
    }
}
