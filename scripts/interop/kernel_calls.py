#!/usr/bin/env python3
"""Calls in the text that `babeltrace2 --clock-seconds` prints of a recording of LTTng's kernel tracer.

Prints the name, how many there were from entry to exit, and the sum, maximum and minimum of their wall
times in nanoseconds, separated by tabs. Written without a look at how profctl reads the same.

usage: babeltrace2 --clock-seconds DIRECTORY | kernel_calls.py
"""

import re
import sys
from collections import defaultdict

VECTORS = "HI TIMER NET_TX NET_RX BLOCK IRQ_POLL TASKLET SCHED HRTIMER RCU".split()
LINE = re.compile(r"\[(\d+)\.(\d{9})\] \S+ \S+ (\S+): \{ cpu_id = (\d+) \}(.*)")
FIELD = re.compile(r'(\w+) = ("[^"]*"|-?\w+)')

lengths = defaultdict(list)
interrupts = defaultdict(list)
system_calls = {}
works = {}
running = {}


def leave(stack, name, now):
    if stack and stack[-1][0] == name:
        lengths[name].append(now - stack.pop()[1])


for line in sys.stdin:
    match = LINE.match(line)
    if not match:
        continue
    seconds, nanoseconds, event, cpu, rest = match.groups()
    now = int(seconds) * 10**9 + int(nanoseconds)
    field = {name: value.strip('"') for name, value in FIELD.findall(rest)}
    thread = running.get(cpu)
    on_cpu = interrupts[cpu]
    if event == "sched_switch":
        running[cpu] = field["next_tid"]
    elif event == "irq_handler_entry":
        on_cpu.append(("irq:" + field["name"], now))
    elif event == "irq_handler_exit":
        leave(on_cpu, on_cpu[-1][0] if on_cpu else "", now)
    elif event == "irq_softirq_entry":
        on_cpu.append(("softirq:" + VECTORS[int(field["vec"])], now))
    elif event == "irq_softirq_exit":
        leave(on_cpu, "softirq:" + VECTORS[int(field["vec"])], now)
    elif event == "timer_hrtimer_expire_entry":
        on_cpu.append(("timer_hrtimer_expire", now))
    elif event == "timer_hrtimer_expire_exit":
        leave(on_cpu, "timer_hrtimer_expire", now)
    elif event == "workqueue_execute_start":
        works[thread] = now
    elif event == "workqueue_execute_end" and thread in works:
        lengths["workqueue_execute"].append(now - works.pop(thread))
    elif event.startswith("syscall_entry_"):
        system_calls[thread] = (event.removeprefix("syscall_entry_"), now)
    elif event.startswith("syscall_exit_") and thread in system_calls:
        name, start = system_calls.pop(thread)
        if name == event.removeprefix("syscall_exit_"):
            lengths[name].append(now - start)

for name, of in sorted(lengths.items()):
    print(name, len(of), sum(of), max(of), min(of), sep="\t")
