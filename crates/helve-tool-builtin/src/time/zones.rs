//! What people call a zone: an IANA name, a city, a country with one zone, an offset, or `local`.
//!
//! An abbreviation such as `CST` is never guessed at, since it stands for several zones; the answer names them.

use jiff::tz::{Offset, TimeZone};

/// Names that the IANA database does not have, in lower case.
const PLACES: &[(&str, &str)] = &[
    ("beijing", "Asia/Shanghai"),
    ("peking", "Asia/Shanghai"),
    ("shenzhen", "Asia/Shanghai"),
    ("guangzhou", "Asia/Shanghai"),
    ("hangzhou", "Asia/Shanghai"),
    ("chengdu", "Asia/Shanghai"),
    ("wuhan", "Asia/Shanghai"),
    ("nanjing", "Asia/Shanghai"),
    ("china", "Asia/Shanghai"),
    ("taiwan", "Asia/Taipei"),
    ("osaka", "Asia/Tokyo"),
    ("kyoto", "Asia/Tokyo"),
    ("korea", "Asia/Seoul"),
    ("south korea", "Asia/Seoul"),
    ("india", "Asia/Kolkata"),
    ("delhi", "Asia/Kolkata"),
    ("new delhi", "Asia/Kolkata"),
    ("mumbai", "Asia/Kolkata"),
    ("bangalore", "Asia/Kolkata"),
    ("bengaluru", "Asia/Kolkata"),
    ("chennai", "Asia/Kolkata"),
    ("hyderabad", "Asia/Kolkata"),
    ("pakistan", "Asia/Karachi"),
    ("hanoi", "Asia/Bangkok"),
    ("thailand", "Asia/Bangkok"),
    ("vietnam", "Asia/Ho_Chi_Minh"),
    ("philippines", "Asia/Manila"),
    ("abu dhabi", "Asia/Dubai"),
    ("saudi arabia", "Asia/Riyadh"),
    ("tel aviv", "Asia/Jerusalem"),
    ("uk", "Europe/London"),
    ("england", "Europe/London"),
    ("scotland", "Europe/London"),
    ("edinburgh", "Europe/London"),
    ("manchester", "Europe/London"),
    ("ireland", "Europe/Dublin"),
    ("germany", "Europe/Berlin"),
    ("munich", "Europe/Berlin"),
    ("hamburg", "Europe/Berlin"),
    ("frankfurt", "Europe/Berlin"),
    ("cologne", "Europe/Berlin"),
    ("france", "Europe/Paris"),
    ("lyon", "Europe/Paris"),
    ("italy", "Europe/Rome"),
    ("milan", "Europe/Rome"),
    ("barcelona", "Europe/Madrid"),
    ("netherlands", "Europe/Amsterdam"),
    ("switzerland", "Europe/Zurich"),
    ("geneva", "Europe/Zurich"),
    ("austria", "Europe/Vienna"),
    ("sweden", "Europe/Stockholm"),
    ("norway", "Europe/Oslo"),
    ("denmark", "Europe/Copenhagen"),
    ("finland", "Europe/Helsinki"),
    ("greece", "Europe/Athens"),
    ("kiev", "Europe/Kyiv"),
    ("st petersburg", "Europe/Moscow"),
    ("saint petersburg", "Europe/Moscow"),
    ("nyc", "America/New_York"),
    ("new york city", "America/New_York"),
    ("washington", "America/New_York"),
    ("washington dc", "America/New_York"),
    ("boston", "America/New_York"),
    ("miami", "America/New_York"),
    ("atlanta", "America/New_York"),
    ("philadelphia", "America/New_York"),
    ("houston", "America/Chicago"),
    ("dallas", "America/Chicago"),
    ("austin", "America/Chicago"),
    ("san francisco", "America/Los_Angeles"),
    ("la", "America/Los_Angeles"),
    ("san diego", "America/Los_Angeles"),
    ("seattle", "America/Los_Angeles"),
    ("las vegas", "America/Los_Angeles"),
    ("silicon valley", "America/Los_Angeles"),
    ("hawaii", "Pacific/Honolulu"),
    ("montreal", "America/Toronto"),
    ("ottawa", "America/Toronto"),
    ("rio de janeiro", "America/Sao_Paulo"),
    ("brasilia", "America/Sao_Paulo"),
    ("argentina", "America/Argentina/Buenos_Aires"),
    ("canberra", "Australia/Sydney"),
    ("new zealand", "Pacific/Auckland"),
    ("wellington", "Pacific/Auckland"),
    ("south africa", "Africa/Johannesburg"),
    ("cape town", "Africa/Johannesburg"),
    ("kenya", "Africa/Nairobi"),
    ("nigeria", "Africa/Lagos"),
    ("中国", "Asia/Shanghai"),
    ("北京", "Asia/Shanghai"),
    ("上海", "Asia/Shanghai"),
    ("深圳", "Asia/Shanghai"),
    ("广州", "Asia/Shanghai"),
    ("杭州", "Asia/Shanghai"),
    ("成都", "Asia/Shanghai"),
    ("武汉", "Asia/Shanghai"),
    ("乌鲁木齐", "Asia/Urumqi"),
    ("香港", "Asia/Hong_Kong"),
    ("澳门", "Asia/Macau"),
    ("台北", "Asia/Taipei"),
    ("东京", "Asia/Tokyo"),
    ("日本", "Asia/Tokyo"),
    ("大阪", "Asia/Tokyo"),
    ("首尔", "Asia/Seoul"),
    ("韩国", "Asia/Seoul"),
    ("新加坡", "Asia/Singapore"),
    ("曼谷", "Asia/Bangkok"),
    ("泰国", "Asia/Bangkok"),
    ("印度", "Asia/Kolkata"),
    ("新德里", "Asia/Kolkata"),
    ("孟买", "Asia/Kolkata"),
    ("迪拜", "Asia/Dubai"),
    ("莫斯科", "Europe/Moscow"),
    ("伦敦", "Europe/London"),
    ("英国", "Europe/London"),
    ("巴黎", "Europe/Paris"),
    ("法国", "Europe/Paris"),
    ("柏林", "Europe/Berlin"),
    ("德国", "Europe/Berlin"),
    ("慕尼黑", "Europe/Berlin"),
    ("法兰克福", "Europe/Berlin"),
    ("罗马", "Europe/Rome"),
    ("意大利", "Europe/Rome"),
    ("马德里", "Europe/Madrid"),
    ("阿姆斯特丹", "Europe/Amsterdam"),
    ("苏黎世", "Europe/Zurich"),
    ("纽约", "America/New_York"),
    ("华盛顿", "America/New_York"),
    ("波士顿", "America/New_York"),
    ("芝加哥", "America/Chicago"),
    ("洛杉矶", "America/Los_Angeles"),
    ("旧金山", "America/Los_Angeles"),
    ("硅谷", "America/Los_Angeles"),
    ("西雅图", "America/Los_Angeles"),
    ("多伦多", "America/Toronto"),
    ("温哥华", "America/Vancouver"),
    ("圣保罗", "America/Sao_Paulo"),
    ("悉尼", "Australia/Sydney"),
    ("墨尔本", "Australia/Melbourne"),
    ("奥克兰", "Pacific/Auckland"),
    ("新西兰", "Pacific/Auckland"),
    ("开罗", "Africa/Cairo"),
];

/// What abbreviations may mean, in lower case.
const ABBREVIATIONS: &[(&str, &[&str])] = &[
    ("cst", &["Asia/Shanghai", "America/Chicago"]),
    ("ist", &["Asia/Kolkata", "Asia/Jerusalem", "Europe/Dublin"]),
    ("bst", &["Europe/London", "Asia/Dhaka"]),
    ("ast", &["America/Halifax", "Asia/Riyadh"]),
    ("gst", &["Asia/Dubai"]),
    ("et", &["America/New_York"]),
    ("edt", &["America/New_York"]),
    ("cdt", &["America/Chicago"]),
    ("ct", &["America/Chicago"]),
    ("mdt", &["America/Denver"]),
    ("mt", &["America/Denver"]),
    ("pst", &["America/Los_Angeles"]),
    ("pdt", &["America/Los_Angeles"]),
    ("pt", &["America/Los_Angeles"]),
    ("akst", &["America/Anchorage"]),
    ("jst", &["Asia/Tokyo"]),
    ("kst", &["Asia/Seoul"]),
    ("hkt", &["Asia/Hong_Kong"]),
    ("sgt", &["Asia/Singapore"]),
    ("msk", &["Europe/Moscow"]),
    ("cest", &["Europe/Berlin"]),
    ("eest", &["Europe/Athens"]),
    ("aest", &["Australia/Sydney", "Australia/Brisbane"]),
    ("aedt", &["Australia/Sydney"]),
    ("acst", &["Australia/Adelaide", "Australia/Darwin"]),
    ("awst", &["Australia/Perth"]),
    ("nzst", &["Pacific/Auckland"]),
    ("nzdt", &["Pacific/Auckland"]),
    ("brt", &["America/Sao_Paulo"]),
];

/// Parts of the world; other names with a slash are old or technical.
const AREAS: &[&str] = &[
    "Africa/",
    "America/",
    "Antarctica/",
    "Asia/",
    "Atlantic/",
    "Australia/",
    "Europe/",
    "Indian/",
    "Pacific/",
];

const NAME_BYTES_MAX: usize = 64;
const SUGGESTIONS_MAX: usize = 5;
/// In a shorter name one other letter makes another city.
const MISSPELT_CHARS_MIN: usize = 6;

pub(super) struct Zones {
    local: TimeZone,
}

impl Zones {
    /// `local` is the server's zone; the system's where the operator names none, UTC where that is unknown.
    pub(super) fn new(local: Option<&str>) -> Self {
        let named = local.and_then(|name| find_iana_zone(name.trim()));
        let local = named.or_else(|| TimeZone::try_system().ok()).filter(|zone| zone.iana_name().is_some());
        Self { local: local.unwrap_or(TimeZone::UTC) }
    }

    pub(super) fn find(&self, name: &str) -> Result<TimeZone, String> {
        let name = name.trim();
        if name.len() > NAME_BYTES_MAX {
            return Err(format!("a zone's name has at most {NAME_BYTES_MAX} bytes; {HINT}"));
        }
        let lower = name.to_lowercase().replace('.', "").replace(['_', ','], " ");
        let lower = lower.split_whitespace().collect::<Vec<_>>().join(" ");
        if matches!(lower.as_str(), "" | "local" | "server" | "本地") {
            return Ok(self.local.clone());
        }
        if let Some(offset) = parse_offset(&lower) {
            return Ok(if offset == Offset::UTC { TimeZone::UTC } else { TimeZone::fixed(offset) });
        }
        if let Some((_, meanings)) = ABBREVIATIONS.iter().find(|(letters, _)| *letters == lower) {
            let meanings = quote_names(meanings.iter().copied());
            return Err(format!("`{name}` is an abbreviation, not a zone; it may mean {meanings}; {HINT}"));
        }
        let place =
            PLACES.iter().find(|(place, _)| *place == lower).and_then(|(_, zone)| find_iana_zone(zone));
        place
            .or_else(|| find_iana_zone(&name.replace(' ', "_")))
            .or_else(|| find_city(&lower))
            .or_else(|| find_misspelt(&lower))
            .ok_or_else(|| unknown_zone_message(name, &lower))
    }
}

const HINT: &str = "use an IANA name such as Asia/Shanghai, or an offset such as UTC+8";

fn find_iana_zone(name: &str) -> Option<TimeZone> {
    jiff::tz::db().get(name).ok().filter(|zone| !zone.is_unknown())
}

/// All cities of the database, each with its zone's name.
fn list_cities() -> Vec<(String, String)> {
    let names = jiff::tz::db().available().map(|name| name.as_str().to_owned());
    let names = names.filter(|name| AREAS.iter().any(|area| name.starts_with(area)));
    names
        .map(|name| (name.rsplit('/').next().unwrap_or_default().to_lowercase().replace('_', " "), name))
        .collect()
}

fn find_city(lower: &str) -> Option<TimeZone> {
    let mut named: Vec<_> = list_cities().into_iter().filter(|(city, _)| city == lower).collect();
    // An old name of the same place may be there too; the shorter path is the one people know.
    named.sort_by_key(|(_, zone)| (zone.matches('/').count(), zone.clone()));
    named.first().and_then(|(_, zone)| find_iana_zone(zone))
}

/// A city in its part of the world that is wrong in one letter, such as `America/Los_Angelos`, if no other zone is as near.
/// The answer names the zone, so that a reader sees which one was taken.
fn find_misspelt(lower: &str) -> Option<TimeZone> {
    let (area, city) = lower.rsplit_once('/')?;
    if city.chars().count() < MISSPELT_CHARS_MIN {
        return None;
    }
    let is_near = |(known, zone): &(String, String)| {
        let its_area = zone.rsplit_once('/').map(|(area, _)| area.to_lowercase());
        its_area.as_deref() == Some(area) && edit_distance(known, city) == 1
    };
    let mut near = list_cities().into_iter().filter(is_near);
    let (_, zone) = near.next()?;
    if near.next().is_some() { None } else { find_iana_zone(&zone) }
}

fn unknown_zone_message(name: &str, lower: &str) -> String {
    let place = lower.rsplit('/').next().unwrap_or(lower);
    let known = PLACES.iter().map(|(city, zone)| ((*city).to_owned(), (*zone).to_owned()));
    let mut near: Vec<(usize, String)> = list_cities()
        .into_iter()
        .chain(known)
        .map(|(city, zone)| (edit_distance(&city, place), zone))
        .filter(|(distance, _)| *distance <= 1 + place.chars().count() / 4)
        .collect();
    near.sort();
    let mut zones: Vec<String> = vec![];
    for (_, zone) in near {
        if !zones.contains(&zone) && zones.len() < SUGGESTIONS_MAX {
            zones.push(zone);
        }
    }
    if zones.is_empty() {
        return format!("there is no time zone `{name}`; {HINT}");
    }
    format!("there is no time zone `{name}`; did you mean {}? Otherwise {HINT}", quote_names(zones.iter()))
}

fn quote_names(names: impl Iterator<Item = impl AsRef<str>>) -> String {
    names.map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// `utc`, `z`, `utc+8`, `gmt-03:30`, `+0530`.
fn parse_offset(lower: &str) -> Option<Offset> {
    let rest = lower.strip_prefix("utc").or_else(|| lower.strip_prefix("gmt"));
    let named = rest.is_some();
    let rest: String = rest.unwrap_or(lower).chars().filter(|c| *c != ' ').collect();
    if (named && rest.is_empty()) || lower == "z" {
        return Some(Offset::UTC);
    }
    let (sign, digits) = match rest.strip_prefix('+') {
        Some(digits) => (1, digits),
        None => (-1, rest.strip_prefix(['-', '−'])?),
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(both) => both,
        None if digits.is_ascii() && digits.len() > 2 => digits.split_at(digits.len() - 2),
        None => (digits, "0"),
    };
    let number = |text: &str, max: i32| {
        let fits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i32>().ok().filter(|n| fits && *n <= max)
    };
    Offset::from_seconds(sign * (number(hours, 14)? * 3_600 + number(minutes, 59)? * 60)).ok()
}

/// The number of letters to add, drop or change.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let kept = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = kept.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
