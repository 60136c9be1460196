//! The names of fields that are read, as numbers, so that no name is compared for each event.

macro_rules! names {
    ($($name:ident $text:literal)*) => {
        /// The name of a field.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Name {
            $($name,)*
        }

        impl Name {
            /// All of them, in order.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// As the metadata spells it, without the underscore that LTTng puts before names.
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

names! {
    Address "addr"
    Base "baddr"
    ChildComm "child_comm"
    ChildTid "child_tid"
    Comm "comm"
    Irq "irq"
    IsPic "is_pic"
    Label "name"
    MemorySize "memsz"
    NextComm "next_comm"
    NextTid "next_tid"
    ParentComm "parent_comm"
    ParentTid "parent_tid"
    Path "path"
    Pid "pid"
    PrevComm "prev_comm"
    PrevState "prev_state"
    PrevTid "prev_tid"
    ProcessComm "procname"
    TargetCpu "target_cpu"
    ThreadId "thread_id"
    Tid "tid"
    Vector "vec"
    VirtualPid "vpid"
    VirtualTid "vtid"
}
