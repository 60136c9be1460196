//! The walk as a trace of LTTng's `cyg_profile` events: CTF 1.8 with a metadata file and a stream a
//! CPU.

use std::io::{self, Write};

use super::CPUS;
use super::uftrace::Create;
use super::walk::{Step, Walk};

/// Bytes of a packet, and of its header and context.
const PACKET: usize = 256 << 10;
const HEAD: usize = 4 + 16 + 4 + 5 * 8 + 4;
/// Bytes of an event: the number, the time, the thread, the process, two addresses.
const EVENT: usize = 2 + 4 + 4 + 4 + 8 + 8;
const ENTRY: u16 = 0;
const EXIT: u16 = 1;
const PROCESS: u32 = 1_000;
const BASE: u64 = 0x5555_5555_0000;
const FUNCTION_BYTES: u64 = 64;

const METADATA: &str = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
trace {
	major = 1;
	minor = 8;
	uuid = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564";
	byte_order = le;
	packet.header := struct {
		uint32_t magic;
		uint8_t uuid[16];
		uint32_t stream_id;
	};
};
env {
	domain = "ust";
	tracer_name = "lttng-ust";
	tracer_major = 2;
	tracer_minor = 13;
};
clock { name = "monotonic"; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 32; align = 8; signed = false; map = clock.monotonic.value; } := uint32_clock_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := uint64_clock_t;
stream {
	id = 0;
	packet.context := struct {
		uint64_clock_t timestamp_begin;
		uint64_clock_t timestamp_end;
		uint64_t content_size;
		uint64_t packet_size;
		uint64_t events_discarded;
		uint32_t cpu_id;
	};
	event.header := struct {
		enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;
		variant <id> {
			struct { uint32_clock_t timestamp; } compact;
			struct { uint32_t id; uint64_clock_t timestamp; } extended;
		} v;
	} align(8);
	event.context := struct {
		integer { size = 32; align = 8; signed = true; } _vtid;
		integer { size = 32; align = 8; signed = true; } _vpid;
	};
};
event {
	name = "lttng_ust_cyg_profile:func_entry";
	id = 0;
	stream_id = 0;
	fields := struct {
		integer { size = 64; align = 8; signed = 0; base = 16; } _addr;
		integer { size = 64; align = 8; signed = 0; base = 16; } _call_site;
	};
};
event {
	name = "lttng_ust_cyg_profile:func_exit";
	id = 1;
	stream_id = 0;
	fields := struct {
		integer { size = 64; align = 8; signed = 0; base = 16; } _addr;
		integer { size = 64; align = 8; signed = 0; base = 16; } _call_site;
	};
};
"#;

/// The stream of a CPU.
struct Stream {
    out: Box<dyn Write>,
    cpu: u32,
    events: Vec<u8>,
    /// Times of the first and the last event of the packet.
    times: (u64, u64),
}

impl Stream {
    fn event(&mut self, id: u16, time: u64, (tid, address): (u32, u64)) -> io::Result<()> {
        if HEAD + self.events.len() + EVENT > PACKET {
            self.close()?;
        }
        if self.events.is_empty() {
            self.times.0 = time;
        }
        self.times.1 = time;
        self.events.extend_from_slice(&id.to_le_bytes());
        self.events.extend_from_slice(&(time as u32).to_le_bytes());
        self.events.extend_from_slice(&tid.to_le_bytes());
        self.events.extend_from_slice(&PROCESS.to_le_bytes());
        self.events.extend_from_slice(&address.to_le_bytes());
        self.events.extend_from_slice(&BASE.to_le_bytes());
        Ok(())
    }

    /// Writes the packet.
    fn close(&mut self) -> io::Result<()> {
        if self.events.is_empty() {
            return Ok(());
        }
        let mut head = 0xc1fc_1fc1_u32.to_le_bytes().to_vec();
        head.extend(0x2a64_22d0_6cee_11e0_8c08_cb07_d7b3_a564_u128.to_be_bytes());
        head.extend(0_u32.to_le_bytes());
        let bits = |bytes: usize| 8 * bytes as u64;
        let (begin, end) = self.times;
        for word in [begin, end, bits(HEAD + self.events.len()), bits(PACKET), 0] {
            head.extend(word.to_le_bytes());
        }
        head.extend(self.cpu.to_le_bytes());
        self.events.resize(PACKET - HEAD, 0);
        self.out.write_all(&head)?;
        self.out.write_all(&self.events)?;
        self.events.clear();
        Ok(())
    }
}

/// Writes a trace of about `bytes` bytes, and says how many events it has.
pub fn write_ctf(bytes: u64, seed: u64, create: Create<'_>) -> io::Result<u64> {
    create("metadata")?.write_all(METADATA.as_bytes())?;
    let mut walk = Walk::new(seed, CPUS);
    let mut streams = Vec::new();
    for cpu in 0..CPUS as u32 {
        let out = create(&format!("channel0_{cpu}"))?;
        streams.push(Stream { out, cpu, events: Vec::new(), times: (0, 0) });
    }
    let mut events = 0;
    while (METADATA.len() as u64) + events * (EVENT as u64) < bytes {
        let before = walk.time;
        let step = walk.next();
        let tid = PROCESS + walk.task() as u32;
        let stream = &mut streams[walk.cpu];
        let of = |function: usize| (tid, BASE + function as u64 * FUNCTION_BYTES);
        events += match step {
            Step::Enter { function, .. } => {
                stream.event(ENTRY, before, of(function))?;
                1
            }
            Step::Leaf { function, length, .. } => {
                stream.event(ENTRY, before, of(function))?;
                stream.event(EXIT, before + length, of(function))?;
                2
            }
            Step::Exit { function, .. } => {
                stream.event(EXIT, walk.time, of(function))?;
                1
            }
            Step::Switch { .. } => 0,
        };
    }
    for stream in &mut streams {
        stream.close()?;
        stream.out.flush()?;
    }
    Ok(events)
}

/// What `nm` prints of the program.
pub fn ctf_symbols(seed: u64) -> String {
    let walk = Walk::new(seed, 1);
    let line = |(n, name): (u64, &String)| format!("{:016x} T {name}\n", BASE + n * FUNCTION_BYTES);
    (0..).zip(&walk.names).map(line).collect()
}
