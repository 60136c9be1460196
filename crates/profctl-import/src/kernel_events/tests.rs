//! Events as recorders print and record them, and what they mean.

use super::format::{EventFormat, FieldKind};
use super::line::{self, EventLine, Lost, Stamp};
use super::record::{Decoder, StateBits};
use super::text::printed;
use super::{KernelEvent, Syscall, Task};
use crate::bytes::Endian;
use crate::emit::{PrevState, WakerContext, WakingKind};

fn task(tid: u64, name: &str) -> Task<'_> {
    Task { tid, name: name.as_bytes() }
}

fn syscall(name: &str, entered: bool) -> KernelEvent<'_> {
    KernelEvent::Syscall { call: Syscall::Name(name.as_bytes()), entered, raw: false }
}

#[test]
fn switches_of_the_kernel_and_of_reports_say_the_same() {
    let expected = KernelEvent::Switch {
        prev: task(0, "swapper/1"),
        state: PrevState::Runnable,
        next: task(15, "rcu_preempt"),
    };
    for body in [
        "sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> \
         next_comm=rcu_preempt next_pid=15 next_prio=120",
        "sched_switch:         swapper/1:0 [120] R ==> rcu_preempt:15 [120]",
        "sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> \
         next_comm=rcu_preempt next_pid=15 next_prio=120",
        "sched_switch: prev_comm=swapper/1 prev_pid=0x0 (0) prev_prio=0x78 (120) \
         prev_state=0x0 (0) next_comm=rcu_preempt next_pid=0xf (15) next_prio=0x78 (120)",
    ] {
        assert_eq!(printed(body.as_bytes()).event, expected, "{body}");
    }
}

#[test]
fn states_are_told_apart() {
    for (letters, reported, state) in [
        ("S", "S", PrevState::Sleeping),
        ("D", "D", PrevState::Uninterruptible),
        ("I", "W", PrevState::Sleeping),
        ("T", "T", PrevState::Stopped),
        ("X", "Z", PrevState::Dead),
        ("Z", "X", PrevState::Dead),
        ("P", "x", PrevState::Stopped),
        ("R+", "", PrevState::Preempted),
    ] {
        let text = format!(
            "sched_switch: prev_comm=a b prev_pid=1 prev_prio=120 prev_state={letters} ==> \
             next_comm=c next_pid=2 next_prio=120"
        );
        let of = |text: &str| match printed(text.as_bytes()).event {
            KernelEvent::Switch { state, .. } => state,
            other => panic!("{other:?}"),
        };
        assert_eq!(of(&text), state, "{letters}");
        if !reported.is_empty() {
            let report = format!("sched_switch: a b:1 [120] {reported} ==> c:2 [120]");
            assert_eq!(of(&report), state, "{reported}");
        }
    }
}

#[test]
fn names_may_hold_anything() {
    let body = "sched_switch: prev_comm=x ==> next_comm=y prev_pid=3 prev_prio=1 prev_state=S ==> \
                next_comm=a:1 [7] next_pid=9 next_prio=120";
    // Read from the end: the arrow inside a name is not the one.
    match printed(body.as_bytes()).event {
        KernelEvent::Switch { prev, next, .. } => {
            assert_eq!((prev.tid, next.tid), (3, 9));
            assert_eq!(next.name, b"a:1 [7]");
            assert_eq!(prev.name, b"x ==> next_comm=y");
        }
        other => panic!("{other:?}"),
    }
    let body = b"sched_waking: comm=} /* f() */ | { pid=397 prio=120 target_cpu=000";
    assert_eq!(
        printed(body).event,
        KernelEvent::Waking {
            kind: WakingKind::Waking,
            target: task(397, "} /* f() */ | {"),
            cpu: Some(0)
        }
    );
}

#[test]
fn wakings_forks_and_ends() {
    let target = task(278, "init");
    let cpu = Some(1);
    for (body, event) in [
        (
            "sched_wakeup_new:     init:278 [120] CPU:001",
            KernelEvent::Waking { kind: WakingKind::WakeupNew, target, cpu },
        ),
        (
            "sched_wakeup: comm=init pid=278 prio=120 target_cpu=001",
            KernelEvent::Waking { kind: WakingKind::Wakeup, target, cpu },
        ),
        (
            "sched_process_fork: comm=init pid=1 child_comm=init child_pid=278",
            KernelEvent::Fork { parent: task(1, "init"), child: target },
        ),
        ("sched_process_exit: comm=init pid=278 prio=120", KernelEvent::Exit(target)),
        (
            "task_rename: pid=278 oldcomm=sh newcomm=init oom_score_adj=0",
            KernelEvent::Rename(target),
        ),
    ] {
        assert_eq!(printed(body.as_bytes()).event, event, "{body}");
    }
}

#[test]
fn interrupts_and_system_calls() {
    let raw = |number, entered| KernelEvent::Syscall {
        call: Syscall::Number(number),
        entered,
        raw: true,
    };
    for (body, name, event) in [
        (
            "irq_handler_entry: irq=26 name=virtio0-req.1",
            "irq_handler_entry",
            KernelEvent::Irq { number: 26, name: Some(b"virtio0-req.1"), entered: true },
        ),
        (
            "irq_handler_exit: irq=26 ret=handled",
            "irq_handler_exit",
            KernelEvent::Irq { number: 26, name: None, entered: false },
        ),
        (
            "softirq_entry:        vec=1 [action=TIMER]",
            "softirq_entry",
            KernelEvent::SoftIrq { action: b"TIMER", entered: true },
        ),
        (
            "local_timer_exit: vector=236",
            "local_timer_exit",
            KernelEvent::Vector { name: b"local_timer", entered: false },
        ),
        ("sys_enter: NR 59 (7ffe, 0)", "sys_enter", raw(59, true)),
        ("sys_exit:             NR 1 = -11", "sys_exit", raw(1, false)),
        ("sys_exit: NR -1 = 0", "sys_exit", raw(u64::MAX, false)),
        ("sys_exit: id=0x1 (1) ret=0x15 (21)", "sys_exit", raw(1, false)),
        ("sys_exit_write:       0x1", "sys_exit_write", syscall("write", false)),
        ("syscalls:sys_enter_brk: brk: 0x00000000", "sys_enter_brk", syscall("brk", true)),
        (
            "sys_write(fd: 4, buf: 7ffd (77:6f) \"a -> b(\", count: 2)",
            "sys_write",
            syscall("write", true),
        ),
        ("sys_write -> 0x14", "sys_write", syscall("write", false)),
        ("softirq_raise: vec=1 [action=TIMER]", "softirq_raise", KernelEvent::Other),
        ("tracing_mark_write: sys_read(", "tracing_mark_write", KernelEvent::Other),
        ("mutex_unlock <-rb_simple_write", "", KernelEvent::Other),
        ("sys_ -> ", "", KernelEvent::Other),
        ("", "", KernelEvent::Other),
    ] {
        let found = printed(body.as_bytes());
        assert_eq!((found.name, found.event), (name.as_bytes(), event), "{body}");
    }
}

#[test]
fn lines_in_every_form() {
    let line = |task: &'static str, tid, cpu, context, time, body: &'static str| EventLine {
        task: task.as_bytes(),
        tid,
        pid: None,
        cpu,
        context,
        time,
        body: body.as_bytes(),
    };
    let task_context = WakerContext::Task;
    for (text, expected) in [
        (
            "        workload-992     [000] ...1.   147.147932: mutex_unlock <-f",
            line(
                "workload",
                992,
                0,
                task_context,
                Stamp::Nanos(147_147_932_000),
                "mutex_unlock <-f",
            ),
        ),
        (
            "          <idle>-0       [001] dNh2.    40.860571: a: b",
            line("<idle>", 0, 1, WakerContext::HardIrq, Stamp::Nanos(40_860_571_000), "a: b"),
        ),
        (
            "        workload-438     [001]     37.272399: sys_exit: NR 1 = 1",
            line(
                "workload",
                438,
                1,
                WakerContext::Unknown,
                Stamp::Nanos(37_272_399_000),
                "sys_exit: NR 1 = 1",
            ),
        ),
        (
            "        workload-711     [001] ..s1.            6: a: b",
            line("workload", 711, 1, WakerContext::SoftIrq, Stamp::Count(6), "a: b"),
        ),
        (
            "        workload-390   [001]1258831655255: a:  b",
            line(
                "workload",
                390,
                1,
                WakerContext::Unknown,
                Stamp::Count(1_258_831_655_255),
                "a:  b",
            ),
        ),
        (
            "             wl-tcprecv-414   [001]   492.211880: a: b",
            line(
                "wl-tcprecv",
                414,
                1,
                WakerContext::Unknown,
                Stamp::Nanos(492_211_880_000),
                "a: b",
            ),
        ),
        (
            " } /* f-1 () */-397     [000] d..2.     1.5: a: b",
            line("} /* f-1 () */", 397, 0, task_context, Stamp::Nanos(1_500_000_000), "a: b"),
        ),
        (
            "workload-279       0..... 89768us+: sys_exit: NR 1 = 1",
            line(
                "workload",
                279,
                0,
                task_context,
                Stamp::SinceStart(89_768_000),
                "sys_exit: NR 1 = 1",
            ),
        ),
        (
            "  <idle>-0         1dn.H1.. 5us : a",
            line("<idle>", 0, 1, WakerContext::HardAndSoftIrq, Stamp::SinceStart(5_000), "a"),
        ),
        (
            "          <idle>       0   0 45 00000002 0000000b [02083295] 95.410ms (+0.041ms): a: b",
            line("<idle>", 0, 0, WakerContext::HardIrq, Stamp::SinceStart(95_410_000), "a: b"),
        ),
    ] {
        assert_eq!(line::parse(text.as_bytes()), Some(expected), "{text}");
    }
    let with_process =
        "        workload-396     (    395) [001] .....    35.691546: sys_exit: NR 1 = 1";
    assert_eq!(line::parse(with_process.as_bytes()).unwrap().pid, Some(395));
    for other in [
        "",
        "# tracer: nop",
        " => probe_wakeup",
        "555 0 42263326593 type: 385",
        "        workload-992     [000] ...1.   147.147932 mutex_unlock",
        "        workload-992     [000] ...1.   147.1479321234: x",
        "        workload-9x2     [000] ...1.   147.147932: x",
    ] {
        assert_eq!(line::parse(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn losses_with_and_without_a_number() {
    for (text, cpu, events) in [
        ("CPU:0 [LOST 1201 EVENTS]", 0, Some(1201)),
        ("CPU:1 [4787 EVENTS DROPPED]", 1, Some(4787)),
        ("CPU:1 [EVENTS DROPPED]", 1, None),
        ("CPU:12 [LOST EVENTS]", 12, None),
        ("     evbuf: CPU:1 [EVENTS DROPPED]", 1, None),
    ] {
        assert_eq!(line::lost(text.as_bytes()), Some(Lost { cpu: Some(cpu), events }), "{text}");
    }
    assert_eq!(line::lost(b"CPU:0 [x]"), None);
    assert_eq!(line::lost(b"a CPU: 3"), None);
}

const SWITCH: &str = "name: sched_switch
ID: 319
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:1;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:1;
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;
\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;

print fmt: \"%s\", __print_flags(REC->prev_state & 0xff, \"|\", { 0x00000001, \"S\" }, { 0x00000002, \
\"D\" }, { 0x00000010, \"X\" }, { 0x00000080, \"I\" })
";

/// A record of `sched_switch`, in either byte order.
fn switch_record(state: u64, endian: Endian) -> Vec<u8> {
    let mut record = vec![0_u8; 64];
    let mut put = |offset: usize, size: usize, value: u64| {
        let bytes = match endian {
            Endian::Little => value.to_le_bytes()[..size].to_vec(),
            Endian::Big => value.to_be_bytes()[8 - size..].to_vec(),
        };
        record[offset..offset + size].copy_from_slice(&bytes);
    };
    put(0, 2, 319);
    put(24, 4, 15);
    put(32, 8, state);
    put(56, 4, 42);
    record[8..11].copy_from_slice(b"rcu");
    record[40..56].copy_from_slice(b"sixteen bytes!!!");
    record
}

#[test]
fn records_are_read_by_their_description() {
    let format = EventFormat::parse("sched", SWITCH).unwrap();
    assert_eq!((format.id, format.name.as_str(), format.fields.len()), (319, "sched_switch", 7));
    assert_eq!(format.field("prev_comm").unwrap().kind, FieldKind::Text);
    let decoder = Decoder::new(format);
    for endian in [Endian::Little, Endian::Big] {
        for (bits, state) in [
            (0, PrevState::Runnable),
            (1, PrevState::Sleeping),
            (2, PrevState::Uninterruptible),
            (0x10, PrevState::Dead),
            (0x80, PrevState::Sleeping),
            (0x100, PrevState::Preempted),
            (4, PrevState::Unknown(b'?')),
        ] {
            let record = switch_record(bits, endian);
            let expected = KernelEvent::Switch {
                prev: task(15, "rcu"),
                state,
                next: task(42, "sixteen bytes!!!"),
            };
            assert_eq!(decoder.event(&record, endian), Some(expected));
            assert_eq!(decoder.event(&record[..63], endian), Some(expected), "not needed");
            assert_eq!(decoder.event(&record[..59], endian), None);
        }
    }
    let mut text = String::new();
    let record = switch_record(1, Endian::Little);
    decoder.arguments(&record, Endian::Little, |_| None, &mut text);
    assert_eq!(
        text,
        "prev_comm=rcu prev_pid=15 prev_prio=0 prev_state=1 next_comm=sixteen bytes!!! \
         next_pid=42 next_prio=0"
    );
}

#[test]
fn fields_of_every_kind() {
    let text = "name: x\nID: 7\nformat:
\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:1;
\tfield:__rel_loc char[] other;\toffset:12;\tsize:4;\tsigned:1;
\tfield:unsigned long args[2];\toffset:16;\tsize:16;\tsigned:0;
\tfield:const char * ptr;\toffset:32;\tsize:8;\tsigned:0;
\tfield:s16 small;\toffset:40;\tsize:2;\tsigned:1;
\tfield:struct odd thing;\toffset:42;\tsize:24;\tsigned:0;
";
    let format = EventFormat::parse("any", text).unwrap();
    let kinds: Vec<_> = format.fields.iter().map(|f| (f.name.as_str(), f.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("name", FieldKind::TextAt),
            ("other", FieldKind::TextBehind),
            ("args", FieldKind::Numbers(8)),
            ("ptr", FieldKind::Integer),
            ("small", FieldKind::Integer),
            ("thing", FieldKind::Bytes),
        ]
    );
    let mut record = vec![0_u8; 74];
    record[8..12].copy_from_slice(&(66_u32 + (4 << 16)).to_le_bytes());
    record[12..16].copy_from_slice(&(54_u32 + (4 << 16)).to_le_bytes());
    record[16..24].copy_from_slice(&5_u64.to_le_bytes());
    record[32..40].copy_from_slice(&0x1000_u64.to_le_bytes());
    record[40..42].copy_from_slice(&(-2_i16).to_le_bytes());
    record[66..74].copy_from_slice(b"irq\0two\0");
    let decoder = Decoder::new(format);
    let mut shown = String::new();
    let symbol = |address| (address == 0x1000).then_some("there");
    decoder.arguments(&record, Endian::Little, symbol, &mut shown);
    assert_eq!(shown, "name=irq other=two args=[0x5, 0x0] ptr=there small=-2");
    // A text that lies outside the record is omitted.
    record[8..12].copy_from_slice(&(70_u32 + (40 << 16)).to_le_bytes());
    shown.clear();
    decoder.arguments(&record, Endian::Little, symbol, &mut shown);
    assert!(shown.starts_with("other=two"), "{shown}");
}

#[test]
fn states_of_kernels_without_a_list() {
    assert_eq!(StateBits::parse("no pairs"), StateBits::LINUX);
    let old = "{ 1, \"S\"} , { 2, \"D\" }, { 4, \"T\" }, { 1024, \"N\" } ? \"+\" : \"\"";
    assert_eq!(StateBits::parse(old).state(2048), PrevState::Preempted);
    assert_eq!(StateBits::parse(old).state(2), PrevState::Uninterruptible);
}

#[test]
fn damaged_descriptions_are_no_events() {
    for text in ["", "name: x", "ID: 5", "name: x\nID: -", "name:\nID: 5"] {
        assert_eq!(EventFormat::parse("any", text), None, "{text}");
    }
    let odd = "name: sched_switch\nID: 5\nformat:\n\tfield:int x;\toffset:z;\tsize:4;\n\
               \tfield:;\toffset:1;\tsize:4;\n\tfield:a[;\toffset:1;\tsize:4;\n";
    let decoder = Decoder::new(EventFormat::parse("sched", odd).unwrap());
    assert_eq!(decoder.event(&[0; 64], Endian::Little), Some(KernelEvent::Other));
}
