//! SystemView: packets of one core with what passed since the packet before; markers are calls, and
//! tasks that wait say so before the next one runs.

use super::tid;
use crate::execution::{Execution, Leaves, What};
use crate::varint::varint;

const HEAD: &str = ";\n; Version     SEGGER SystemViewer V2.42\n; Author      profctl's tests\n;\n";

fn numbers(of: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &number in of {
        varint(number, &mut bytes);
    }
    bytes
}

/// The recording, and the execution as it says it: functions are called by their number, and why a
/// task waits is not said. A tick is a nanosecond.
pub fn systemview(execution: &Execution) -> (Vec<u8>, Execution) {
    let mut said = execution.clone();
    for (number, name) in said.functions.iter_mut().enumerate() {
        *name = format!("marker {number}");
    }
    let mut last = execution.records.first().map_or(0, |record| record.time);
    let mut bytes = HEAD.as_bytes().to_vec();
    bytes.extend([0; 10]);
    let mut packet = |id: u64, parameters: &[u64], time: u64| {
        bytes.extend(numbers(&[id]));
        let parameters = numbers(parameters);
        if id >= 24 {
            bytes.extend(numbers(&[parameters.len() as u64]));
        }
        bytes.extend(parameters);
        bytes.extend(numbers(&[time - last]));
        last = time;
    };
    let start = execution.records.first().map_or(0, |record| record.time);
    packet(10, &[], start);
    packet(24, &[1_000_000_000, 72_000_000, 0, 0], start);
    for record in &mut said.records {
        let time = record.time;
        let function = |call: usize| execution.calls[call].function as u64;
        match &mut record.what {
            What::Enter(call) => packet(15, &[function(*call)], time),
            What::Exit(call) => packet(16, &[function(*call)], time),
            What::Lost(n) => packet(1, &[*n], time),
            What::Wake(woken) => packet(6, &[tid(*woken) as u64], time),
            What::Switch { prev, leaves, next } => {
                if let Some(prev) = prev
                    && *leaves != Leaves::Runnable
                {
                    *leaves = Leaves::Sleeping;
                    packet(7, &[tid(*prev) as u64, 0], time);
                }
                match next {
                    Some(next) => packet(4, &[tid(*next) as u64], time),
                    None => packet(17, &[], time),
                }
            }
        }
    }
    (bytes, said)
}
