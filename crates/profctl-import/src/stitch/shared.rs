//! What all stacks share: the sink, the names, the diagnostics, the window that was asked for.

use profctl_model::diag::codes;
use profctl_model::{
    Code, DiagLog, Func, FuncId, FuncKind, Names, Place, Span, SpanSink, Tick, Ticks, diag,
};

use super::{BlockView, Grouping, Setup};

/// Everything that is common to all stacks.
pub(super) struct Core<S> {
    pub(super) sink: S,
    pub(super) names: Names,
    pub(super) diags: DiagLog,
    pub(super) setup: Setup,
    /// By function.
    pub(super) roles: Vec<Role>,
    pub(super) modules: Vec<Option<String>>,
    pub(super) window: Window,
    pub(super) is_windowed: bool,
    pub(super) knows_off_cpu: bool,
    pub(super) events: u64,
}

/// What is to be known of a function whenever it is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Role {
    /// What a call of it is counted under, see [`Grouping`].
    pub(super) group: u32,
    pub(super) is_interrupt: bool,
}

/// The stretch of time that was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    pub(super) from: Option<Tick>,
    pub(super) until: Option<Tick>,
}

impl Window {
    /// Whether `time` was asked for.
    pub(super) fn holds(self, time: Tick) -> bool {
        self.from.is_none_or(|from| time >= from) && self.until.is_none_or(|until| time <= until)
    }
}

impl<S: SpanSink> Core<S> {
    pub(super) fn new(setup: Setup, sink: S) -> Self {
        Self {
            sink,
            names: Names::default(),
            diags: DiagLog::default(),
            roles: Vec::new(),
            modules: Vec::new(),
            window: Window::default(),
            is_windowed: setup.from.is_some() || setup.until.is_some(),
            knows_off_cpu: false,
            events: 0,
            setup,
        }
    }

    pub(super) fn func(&mut self, func: &Func) -> FuncId {
        let id = self.names.func(func.clone());
        if id.index() >= self.roles.len() {
            let group = match self.setup.grouping {
                Grouping::Function => id.index() as u32,
                Grouping::Kind => func.kind as u32,
                Grouping::Stack => 0,
                Grouping::Module => {
                    let known = self.modules.iter().position(|module| *module == func.module);
                    known.unwrap_or_else(|| {
                        self.modules.push(func.module.clone());
                        self.modules.len() - 1
                    }) as u32
                }
            };
            self.roles.push(Role { group, is_interrupt: func.kind == FuncKind::Interrupt });
        }
        id
    }

    /// What is called straight from an interrupt entry is an interrupt handler.
    #[cold]
    pub(super) fn is_interrupt(&mut self, func: FuncId) {
        let role = &mut self.roles[func.index()];
        role.is_interrupt = true;
        self.names.funcs[func].kind = FuncKind::Interrupt;
        if self.setup.grouping == Grouping::Kind {
            role.group = FuncKind::Interrupt as u32;
        }
    }

    pub(super) fn window_is_unset(&self) -> bool {
        self.setup.from.is_some() && self.window.from.is_none()
            || self.setup.until.is_some() && self.window.until.is_none()
    }

    pub(super) fn set_window(&mut self, first: Tick) {
        self.window.from = self.setup.from.map(|from| from.tick(first));
        self.window.until = self.setup.until.map(|until| until.tick(first));
    }

    #[cold]
    pub(super) fn backwards(&mut self, step: Ticks, offset: u32, view: BlockView<'_>) {
        self.complain(&codes::BACKWARDS, view, offset, || {
            format!("the clock of this thread steps back by {} ticks", step.0)
        });
    }

    #[cold]
    pub(super) fn complain(
        &mut self,
        code: &Code,
        view: BlockView<'_>,
        offset: u32,
        message: impl FnOnce() -> String,
    ) {
        let Self { diags, setup, .. } = self;
        diags.add(code, 1, || {
            let before = view.bytes.get(..offset as usize).unwrap_or(view.bytes);
            let line = setup
                .quirks
                .has_lines
                .then(|| view.lines + 1 + memchr::memchr_iter(b'\n', before).count() as u64);
            diag::Sample {
                place: Place {
                    source: setup.sources.get(view.source).cloned().unwrap_or_default(),
                    offset: view.offset + u64::from(offset),
                    line,
                },
                message: message(),
            }
        });
    }

    /// What is to be known of a function.
    #[inline]
    pub(super) fn role(&self, func: FuncId) -> Role {
        self.roles[func.index()]
    }

    pub(super) fn name_of(&self, func: FuncId) -> &str {
        &self.names.funcs[func].name
    }

    #[inline(never)]
    pub(super) fn emit(&mut self, span: &Span) {
        self.sink.span(span, &self.names);
    }
}
