//! Date and time as people write them, where nothing is known of their time zone.

use crate::Timestamp;

impl Timestamp {
    /// Such as `2026-11-16 12:34 UTC`.
    pub fn to_utc_string(self) -> String {
        let minutes = self.0.div_euclid(60_000);
        let (days, minute) = (minutes.div_euclid(1_440), minutes.rem_euclid(1_440));
        // Years are counted from March, so that the odd day is the last one (days since 0000-03-01).
        let day = days + 719_468;
        let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let date = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        format!("{year:04}-{month:02}-{date:02} {:02}:{:02} UTC", minute / 60, minute % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_people_write_them() {
        for (ms, told) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399_999, "2000-02-28 23:59 UTC"),
            (951_782_400_000, "2000-02-29 00:00 UTC"),
            (1_794_832_440_000, "2026-11-16 12:34 UTC"),
            (4_107_542_400_000, "2100-03-01 00:00 UTC"),
            (-1, "1969-12-31 23:59 UTC"),
        ] {
            assert_eq!(Timestamp(ms).to_utc_string(), told);
        }
    }
}
