//! Lengths and indexes as octets, named after the bit of the first octet at which they begin.
//!
//! `lead` holds the preceding bits of that octet. Indexes count from 0 here. A length is never 0.

/// X.891 C.22: identifying strings.
pub(super) fn length2(out: &mut Vec<u8>, length: usize) {
    write_length(out, length, Form { lead: 0, small: 64, medium: 0x40, large: 0x60 });
}

/// X.891 C.23: values.
pub(super) fn length5(out: &mut Vec<u8>, lead: u8, length: usize) {
    write_length(out, length, Form { lead, small: 8, medium: 0x08, large: 0x0C });
}

/// X.891 C.24: text.
pub(super) fn length7(out: &mut Vec<u8>, lead: u8, length: usize) {
    write_length(out, length, Form { lead, small: 2, medium: 0x02, large: 0x03 });
}

struct Form {
    lead: u8,
    /// The greatest length in the first octet; the second octet adds 256.
    small: usize,
    medium: u8,
    large: u8,
}

fn write_length(out: &mut Vec<u8>, length: usize, form: Form) {
    debug_assert!(length > 0, "a length of zero cannot be written");
    let value = length.saturating_sub(1);
    if value < form.small {
        out.push(form.lead | low_octet(value));
    } else if value < form.small + 256 {
        out.extend([form.lead | form.medium, low_octet(value - form.small)]);
    } else {
        let rest = u32::try_from(value - form.small - 256);
        debug_assert!(rest.is_ok(), "a string of 4 GiB cannot be written");
        out.push(form.lead | form.large);
        out.extend(rest.unwrap_or(u32::MAX).to_be_bytes());
    }
}

/// X.891 C.25: all tables except element names and text.
pub(super) fn index2(out: &mut Vec<u8>, lead: u8, index: u32) {
    match index {
        0..64 => out.push(lead | low_octet(index as usize)),
        64..8256 => write_index(out, lead | 0x40, index - 64, 1),
        _ => write_index(out, lead | 0x60, index - 8256, 2),
    }
}

/// X.891 C.27: element names.
pub(super) fn index3(out: &mut Vec<u8>, lead: u8, index: u32) {
    match index {
        0..32 => out.push(lead | low_octet(index as usize)),
        32..2080 => write_index(out, lead | 0x20, index - 32, 1),
        2080..526_368 => write_index(out, lead | 0x28, index - 2080, 2),
        _ => write_index(out, lead | 0x30, index - 526_368, 3),
    }
}

/// X.891 C.28: text.
pub(super) fn index4(out: &mut Vec<u8>, lead: u8, index: u32) {
    match index {
        0..16 => out.push(lead | low_octet(index as usize)),
        16..1040 => write_index(out, lead | 0x10, index - 16, 1),
        1040..263_184 => write_index(out, lead | 0x14, index - 1040, 2),
        _ => write_index(out, lead | 0x18, index - 263_184, 3),
    }
}

/// The top bits of `value` share the octet of `lead`, the rest takes `more` octets.
fn write_index(out: &mut Vec<u8>, lead: u8, value: u32, more: usize) {
    let [first, second, third, fourth] = value.to_be_bytes();
    match more {
        1 => out.extend([lead | third, fourth]),
        2 => out.extend([lead | second, third, fourth]),
        _ => out.extend([lead | first, second, third, fourth]),
    }
}

const fn low_octet(value: usize) -> u8 {
    (value & 0xFF) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        out.iter().map(|octet| format!("{octet:02x}")).collect()
    }

    #[test]
    fn lengths_on_both_sides_of_each_boundary() {
        for (length, expected) in [
            (1, "00"),
            (64, "3f"),
            (65, "4000"),
            (70, "4005"),
            (320, "40ff"),
            (321, "6000000000"),
            (404, "6000000053"),
        ] {
            assert_eq!(hex(|out| length2(out, length)), expected, "{length}");
        }
        for (length, expected) in [
            (1, "40"),
            (8, "47"),
            (9, "4800"),
            (31, "4816"),
            (264, "48ff"),
            (265, "4c00000000"),
            (300, "4c00000023"),
        ] {
            assert_eq!(hex(|out| length5(out, 0x40, length)), expected, "{length}");
        }
        for (length, expected) in [
            (1, "90"),
            (2, "91"),
            (3, "9200"),
            (31, "921c"),
            (258, "92ff"),
            (259, "9300000000"),
            (7500, "9300001c49"),
        ] {
            assert_eq!(hex(|out| length7(out, 0x90, length)), expected, "{length}");
        }
    }

    #[test]
    fn indexes_on_both_sides_of_each_boundary() {
        for (index, expected) in
            [(0, "80"), (63, "bf"), (64, "c000"), (8255, "dfff"), (8256, "e00000"), ((1 << 20) - 1, "efdfbf")]
        {
            assert_eq!(hex(|out| index2(out, 0x80, index)), expected, "{index}");
        }
        for (index, expected) in [
            (0, "40"),
            (31, "5f"),
            (32, "6000"),
            (2079, "67ff"),
            (2080, "680000"),
            (526_367, "6fffff"),
            (526_368, "70000000"),
            ((1 << 20) - 1, "7007f7df"),
        ] {
            assert_eq!(hex(|out| index3(out, 0x40, index)), expected, "{index}");
        }
        for (index, expected) in [
            (0, "a0"),
            (15, "af"),
            (16, "b000"),
            (1039, "b3ff"),
            (1040, "b40000"),
            (263_183, "b7ffff"),
            (263_184, "b8000000"),
            ((1 << 20) - 1, "b80bfbef"),
        ] {
            assert_eq!(hex(|out| index4(out, 0xA0, index)), expected, "{index}");
        }
    }
}
