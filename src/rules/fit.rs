//! What a node rule answers, and the score of a node that fits.

use std::collections::BTreeSet;

use super::Rule;

/// Can this Pod run on that node?
#[derive(Clone, Debug)]
pub enum Fit {
    /// Now, and this well.
    Yes(Score),
    /// Not now: evicting Pods, or waiting, could make room. → `FailedNodes`
    Busy(&'static Rule),
    /// Not while the node is what it is. → `FailedAndUnresolvableNodes`
    Never(&'static Rule),
}

/// How well a node fits, each part from 0 to 10, more is better. Field order is the order of importance:
/// compare, never add up. [`Score::points`] renders the extender's 0 to 10 last, when all nodes are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score {
    /// 10 for the pools that the class prefers most among those that can serve it, 9 for the next.
    pub preference: u8,
    /// 10 for the cheapest of equally preferred pools; neutral where a policy names no cost.
    pub cost: u8,
    /// 10 where no tenant disturbs the Pod or is disturbed by it.
    pub company: u8,
    /// 10 where nothing of a slice stays unused; lower, the larger the slice is than what the class needs.
    pub remnant: u8,
    /// Emptier for a class that spreads, fuller for one that packs.
    pub packing: u8,
    /// GPU memory that is free; neutral where memory is not shared or nobody measures it.
    pub free_memory: u8,
}

impl Score {
    /// A part about which nothing is known: between good and bad.
    pub const NEUTRAL: u8 = 5;
    /// The preference where nobody has one.
    pub const NO_PREFERENCE: u8 = 9;
    /// The extender's highest score (`MaxExtenderPriority`).
    pub const MOST: u8 = 10;

    /// The parts with their names, the most important first.
    #[must_use]
    pub const fn parts(self) -> [(&'static str, u8); 6] {
        [
            ("preference", self.preference),
            ("cost", self.cost),
            ("company", self.company),
            ("remnant", self.remnant),
            ("packing", self.packing),
            ("freeMemory", self.free_memory),
        ]
    }

    /// The extender's 0 to 10 for each of these nodes, in their order. The scale is shared out among the
    /// preferences that occur, so that nothing outweighs a preference, and each share among the scores that
    /// occur in it; equal scores get equal points, whatever the order of the nodes.
    #[must_use]
    pub fn points(scores: &[Self]) -> Vec<i64> {
        let mut distinct = scores.to_vec();
        distinct.sort_unstable_by(|one, other| other.cmp(one));
        distinct.dedup();
        let bands: BTreeSet<u8> = distinct.iter().map(|score| score.preference).collect();
        let levels = usize::from(Self::MOST) + 1;
        let point = |score: &Self| {
            let band = bands.iter().rev().position(|preference| *preference == score.preference);
            let band = band.unwrap_or(0);
            let highest = (band * levels / bands.len()).min(levels - 1);
            let lowest = ((band + 1) * levels / bands.len()).clamp(highest + 1, levels);
            let within = distinct.iter().filter(|other| other.preference == score.preference);
            let better = within.clone().position(|other| other == score).unwrap_or(0);
            highest + better * (lowest - highest) / within.count().max(1)
        };
        let known: Vec<i64> = distinct
            .iter()
            .map(|score| i64::from(Self::MOST) - i64::try_from(point(score)).unwrap_or(0))
            .collect();
        // Best first, so the order of the search is turned round.
        let of = |score: &Self| distinct.binary_search_by(|known| score.cmp(known)).ok();
        scores.iter().map(|score| of(score).and_then(|at| known.get(at).copied()).unwrap_or(0)).collect()
    }
}

impl std::fmt::Display for Score {
    /// `preference 10, cost 5, …`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, (name, value)) in self.parts().into_iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{name} {value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(preference: u8, company: u8, packing: u8) -> Score {
        Score { preference, company, packing, ..Score::default() }
    }

    #[test]
    fn nothing_outweighs_a_preference_and_the_scale_is_used_whole() {
        let scores = [score(9, 10, 10), score(10, 0, 0), score(8, 10, 10), score(10, 10, 10)];
        let points = Score::points(&scores);
        assert!(points[1] > points[0] && points[0] > points[2], "{points:?}");
        assert_eq!(points[3], 10);
        assert!(points.iter().all(|points| (0..=10).contains(points)), "{points:?}");
    }

    #[test]
    fn earlier_parts_come_before_later_ones() {
        let points = Score::points(&[score(10, 4, 10), score(10, 5, 0)]);
        assert!(points[1] > points[0], "{points:?}");
    }

    #[test]
    fn ties_are_ties_whatever_the_order() {
        let (one, other) = (score(10, 5, 3), score(10, 5, 7));
        assert_eq!(Score::points(&[one, other, one]), [5, 10, 5]);
        assert_eq!(Score::points(&[other, one, one]), [10, 5, 5]);
        assert_eq!(Score::points(&[one; 3]), [10, 10, 10]);
        assert_eq!(Score::points(&[]), [0_i64; 0]);
    }

    #[test]
    fn more_scores_than_points_keep_their_order() {
        let scores: Vec<Score> = (0..=255).map(|packing| score(10, 5, packing)).collect();
        let points = Score::points(&scores);
        assert!(points.is_sorted(), "{points:?}");
        assert_eq!((points[0], points[255]), (0, 10));
        let scores: Vec<Score> = (0..=255).map(|preference| score(preference, 5, 5)).collect();
        let points = Score::points(&scores);
        assert!(points.is_sorted() && points.iter().all(|points| (0..=10).contains(points)), "{points:?}");
    }

    #[test]
    fn the_parts_are_told_in_the_order_of_their_importance() {
        let text = score(10, 4, 7).to_string();
        assert_eq!(text, "preference 10, cost 0, company 4, remnant 0, packing 7, freeMemory 0");
        let mut better = score(10, 4, 7).parts().map(|(name, _)| name);
        better.reverse();
        assert_eq!(better[5], "preference");
    }
}
