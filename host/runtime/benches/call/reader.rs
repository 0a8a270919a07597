//! The guest that does nothing, made to read fields in each call.

use informant_cache::ObjectKey;

/// Where what is said to the host stands: behind all that is handed to the guest.
const DATA: usize = 2 << 16;

/// Which object is read.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// The one of the event.
    Event,
    /// This one, whatever the event is about.
    Indexer(&'a ObjectKey),
}

/// Texts in the guest's memory.
#[derive(Default)]
struct Data(Vec<u8>);

impl Data {
    /// Address and length.
    fn text(&mut self, text: &str) -> [usize; 2] {
        let at = DATA + self.0.len();
        self.0.extend(text.as_bytes());
        [at, text.len()]
    }

    /// Of a list of texts that are there, aligned.
    fn list(&mut self, texts: &[[usize; 2]]) -> [usize; 2] {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        let at = DATA + self.0.len();
        for word in texts.iter().flatten() {
            self.0.extend(u32::try_from(*word).expect("it is small").to_le_bytes());
        }
        [at, texts.len()]
    }
}

/// `plugin` with reads of some pointers each, one after the other, and all of them so many times in one call. It traps where it does
/// not get the first of them.
pub fn reader(plugin: &str, from: Place<'_>, reads: &[&[&str]], times: usize) -> Vec<u8> {
    let mut data = Data::default();
    let mut words = Vec::new();
    let interface = match from {
        Place::Event => {
            // The newer state.
            words.push(0);
            "event-data"
        }
        Place::Indexer(key) => {
            for text in ["v1/pods", key.namespace(), key.name()] {
                words.extend(data.text(text));
            }
            "indexer"
        }
    };
    let [answer, _] = data.list(&[[0, 0], [0, 0]]);
    let read = |pointers: &&[&str]| {
        let pointers: Vec<[usize; 2]> = pointers.iter().map(|text| data.text(text)).collect();
        let words = words.iter().copied().chain(data.list(&pointers)).chain([answer]);
        let words: String = words.map(|word| format!(" (i32.const {word})")).collect();
        format!("(call $fields{words}) {}", checks(from, answer))
    };
    let reads: String = reads.iter().map(read).collect();
    let parameters = vec!["i32"; words.len() + 3].join(" ");
    let bytes: String = data.0.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let import = format!(
        r#"(import "informant:plugin/{interface}@0.1.0" "fields" (func $fields (param {parameters})))"#
    );
    let memory = r#"(memory (export "memory") 2)"#;
    let more = format!(r#"(memory (export "memory") 3) (data (i32.const {DATA}) "{bytes}")"#);
    let handle = r#"#handle") (param i32) (result i32)"#;
    let reads = format!(
        "{handle} (local $left i32) (local.set $left (i32.const {times}))
        (loop $again
          (global.set $heap (i32.const 1024))
          {reads}
          (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))"
    );
    let mut text = plugin.to_owned();
    for (from, to) in
        [("(module\n", &format!("(module\n{import}\n")), (memory, &more), (handle, &reads)]
    {
        assert!(text.contains(from), "the guest has changed: it has no {from}");
        text = text.replacen(from, to, 1);
    }
    wat::parse_str(text).expect("the guest is well formed")
}

/// Traps unless the answer that stands there has a first value. Before it `indexer` says that it is well, and that the object is there.
fn checks(from: Place<'_>, answer: usize) -> String {
    let (list, is_well) = match from {
        Place::Event => (answer, String::new()),
        Place::Indexer(_) => (
            answer + 8,
            format!(
                "(i32.ne (i32.load8_u (i32.const {answer})) (i32.const 0)) (i32.ne (i32.load8_u (i32.const {})) (i32.const 1)) (i32.or) (if (then unreachable))",
                answer + 4
            ),
        ),
    };
    format!(
        "{is_well} (i32.eqz (i32.load8_u (i32.load (i32.const {list})))) (if (then unreachable))\n"
    )
}
