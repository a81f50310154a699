//! The little linear algebra that solving takes: dense, small, and made of nothing but
//! plain arithmetic, so that every machine gets the same digits (a library's `exp` and
//! `ln` differ in the last one).

/// A square matrix, row by row.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    size: usize,
    cells: Vec<f64>,
}

impl Matrix {
    /// All zeros.
    pub fn zero(size: usize) -> Self {
        let cells = vec![0.0; size * size];
        Self { size, cells }
    }

    /// Rows and columns.
    pub const fn size(&self) -> usize {
        self.size
    }

    pub fn row(&self, row: usize) -> &[f64] {
        &self.cells[row * self.size..][..self.size]
    }

    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.cells[row * self.size..][..self.size]
    }

    /// The product with a column.
    pub fn times(&self, column: &[f64]) -> Vec<f64> {
        let rows = (0..self.size).map(|i| self.row(i));
        rows.map(|row| dot(row, column)).collect()
    }

    /// Takes it apart for solving; pivots that vanish become tiny ones.
    pub fn factor(mut self) -> Factors {
        let size = self.size;
        let mut order: Vec<usize> = (0..size).collect();
        let largest = self.cells.iter().fold(0.0f64, |m, c| m.max(c.abs()));
        let tiny = (largest * 1e-17).max(f64::MIN_POSITIVE);
        for k in 0..size {
            let best = (k..size).fold(k, |best, i| {
                match self.row(i)[k].abs() > self.row(best)[k].abs() {
                    true => i,
                    false => best,
                }
            });
            if best != k {
                for j in 0..size {
                    self.cells.swap(best * size + j, k * size + j);
                }
                order.swap(best, k);
            }
            if self.row(k)[k].abs() < tiny {
                self.row_mut(k)[k] = tiny;
            }
            let (above, below) = self.cells.split_at_mut((k + 1) * size);
            let pivot = &above[k * size..];
            for row in below.chunks_exact_mut(size) {
                let factor = row[k] / pivot[k];
                row[k] = factor;
                for (cell, p) in row.iter_mut().zip(pivot).skip(k + 1) {
                    *cell -= factor * p;
                }
            }
        }
        Factors { lu: self, order }
    }
}

/// A matrix as a lower and an upper triangle.
pub(super) struct Factors {
    lu: Matrix,
    order: Vec<usize>,
}

impl Factors {
    /// Solves for one right side.
    pub fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = self.order.iter().map(|i| right[*i]).collect();
        for i in 0..x.len() {
            x[i] -= dot(&self.lu.row(i)[..i], &x[..i]);
        }
        for i in (0..x.len()).rev() {
            let row = self.lu.row(i);
            x[i] = (x[i] - dot(&row[i + 1..], &x[i + 1..])) / row[i];
        }
        x
    }
}

/// The sum of products.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The eigenvector to the right of an irreducible matrix without negative cells that
/// belongs to its largest eigenvalue, from a first guess without zeros: Noda's iteration, inverse
/// iteration with the upper bound of Collatz and Wielandt as the shift, which converges
/// quadratically, also where the chain is periodic. `None`: the cells are too far apart
/// for these numbers.
pub(super) fn perron(matrix: &Matrix, guess: &[f64]) -> Option<Vec<f64>> {
    const ROUNDS_MAX: usize = 100;
    let mut x = guess.to_vec();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS_MAX {
        let (least, most) = bounds(matrix, &x);
        if !(least > 0.0 && most.is_finite()) {
            return None;
        }
        let spread = (most - least) / most;
        // Rounding ends the descent a little above its last digit.
        if spread <= 1e-15 || (spread < 1e-12 && spread >= best) {
            return Some(x);
        }
        best = best.min(spread);
        let mut shifted = matrix.clone();
        for i in 0..matrix.size() {
            shifted.row_mut(i).iter_mut().for_each(|c| *c = -*c);
            shifted.row_mut(i)[i] += most;
        }
        let y = shifted.factor().solve(&x);
        let largest = y.iter().fold(0.0f64, |m, y| m.max(y.abs()));
        x = y.iter().map(|y| y.abs() / largest).collect();
        if !x.iter().all(|x| x.is_finite() && *x > 0.0) {
            return None;
        }
    }
    None
}

/// The bounds of Collatz and Wielandt on the largest eigenvalue.
fn bounds(matrix: &Matrix, x: &[f64]) -> (f64, f64) {
    let ratios = matrix.times(x).into_iter().zip(x).map(|(y, x)| y / x);
    ratios.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), r| {
        (least.min(r), most.max(r))
    })
}

/// The stationary distribution of an irreducible chain: elimination after Grassmann,
/// Taksar and Heyman, which subtracts nothing and so loses no digits.
pub(super) fn stationary(chain: &Matrix) -> Vec<f64> {
    let size = chain.size();
    let mut p = chain.clone();
    for k in (1..size).rev() {
        let leaves: f64 = p.row(k)[..k].iter().sum();
        let gone = p.row(k)[..k].to_vec();
        for i in 0..k {
            let into = p.row(i)[k] / leaves;
            p.row_mut(i)[k] = into;
            for (cell, g) in p.row_mut(i).iter_mut().zip(&gone) {
                *cell += into * g;
            }
        }
    }
    let mut share = vec![1.0];
    for k in 1..size {
        let into = (0..k).map(|i| share[i] * p.row(i)[k]).sum();
        share.push(into);
    }
    let total: f64 = share.iter().sum();
    share.iter().map(|s| s / total).collect()
}

/// e to the power of `x`, for |x| up to 700.
pub(super) fn exp(x: f64) -> f64 {
    let doublings = (x / std::f64::consts::LN_2).round().clamp(-1000.0, 1000.0);
    let rest = x - doublings * std::f64::consts::LN_2;
    let mut sum = 1.0;
    for k in (1..=18).rev() {
        sum = 1.0 + sum * rest / f64::from(k);
    }
    sum * f64::from_bits(((doublings as i64 + 1023) as u64) << 52)
}

/// The natural logarithm of a normal positive number.
pub(super) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut doublings = (bits >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        (mantissa, doublings) = (0.5 * mantissa, doublings + 1);
    }
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let mut sum = 0.0;
    for k in (0..=12).rev() {
        sum = sum * s * s + 1.0 / f64::from(2 * k + 1);
    }
    2.0 * s * sum + doublings as f64 * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_right() {
        for i in -600..600 {
            let x = f64::from(i) * 0.7;
            let y = x.exp();
            assert!((exp(x) / y - 1.0).abs() < 1e-12, "{x}");
            assert!((ln(y) - x).abs() < 1e-13 * x.abs().max(1.0), "{y}");
        }
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn systems_are_solved() {
        let mut m = Matrix::zero(3);
        m.cells = vec![0.0, 2.0, 1.0, 1.0, -1.0, 0.0, 3.0, 0.0, 1.0];
        let right = m.times(&[1.0, 2.0, 3.0]);
        let x = m.factor().solve(&right);
        for (x, want) in x.iter().zip([1.0, 2.0, 3.0]) {
            assert!((x - want).abs() < 1e-14, "{x}");
        }
    }

    #[test]
    fn a_periodic_chain_has_its_eigenvalue_and_distribution() {
        let mut m = Matrix::zero(2);
        m.cells = vec![0.0, 4.0, 9.0, 0.0];
        let vector = perron(&m, &[1.0, 1.0]).unwrap();
        assert!((vector[1] / vector[0] - 1.5).abs() < 1e-13);
        m.cells = vec![0.0, 1.0, 1.0, 0.0];
        assert_eq!(stationary(&m), [0.5, 0.5]);
    }
}
