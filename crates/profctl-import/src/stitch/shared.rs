//! What all stacks share: the sink, the names, the diagnostics, the window that was asked for.

use profctl_model::diag::codes;
use profctl_model::{
    Code, DiagLog, Func, FuncId, FuncKind, Names, Span, SpanSink, Tick, Ticks, Timeline,
};

use super::window::Window;
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
    /// A microsecond of this clock; nothing if it counts something else.
    pub(super) microsecond: Ticks,
    pub(super) knows_off_cpu: bool,
    pub(super) events: u64,
    /// The function that was met for the first time with the current event.
    pub(super) newest: Option<FuncId>,
}

/// What is to be known of a function whenever it is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Role {
    /// What a call of it is counted under, see [`Grouping`].
    pub(super) group: u32,
    pub(super) is_interrupt: bool,
    /// Whether it was called from the entry of an interrupt, and whether from elsewhere as well.
    /// The second is kept only where the first holds.
    is_entered: bool,
    is_called: bool,
}

impl Role {
    /// Whether its calls are to be looked at one by one.
    #[inline]
    pub(super) fn is_special(self) -> bool {
        self.is_interrupt | self.is_entered
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
            microsecond: setup.timebase.microsecond(),
            is_windowed: setup.from.is_some() || setup.until.is_some(),
            knows_off_cpu: false,
            events: 0,
            newest: None,
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
            let is_interrupt = func.kind == FuncKind::Interrupt;
            self.roles.push(Role { group, is_interrupt, is_entered: false, is_called: false });
            self.newest = Some(id);
        }
        id
    }

    /// Whether a call is an interrupt: its function is one, or it is called straight from the entry
    /// of an interrupt. The second holds for that call, not for others of the same function.
    #[inline]
    pub(super) fn is_interrupt(&mut self, func: FuncId, is_entry: bool) -> bool {
        let role = self.role(func);
        if is_entry || role.is_entered {
            self.note_entry(func, is_entry);
        }
        is_entry || role.is_interrupt
    }

    #[cold]
    fn note_entry(&mut self, func: FuncId, is_entry: bool) {
        let is_new = self.newest == Some(func);
        let role = &mut self.roles[func.index()];
        role.is_called |= !is_entry || !(role.is_entered || is_new);
        role.is_entered |= is_entry;
    }

    /// A function that was only ever called from the entry of an interrupt is a handler.
    pub(super) fn name_handlers(&mut self) {
        for (index, role) in self.roles.iter().enumerate() {
            if role.is_entered && !role.is_called {
                self.names.funcs[FuncId::from_index(index)].kind = FuncKind::Interrupt;
            }
        }
    }

    /// What a call counts under, see [`Grouping`].
    #[inline]
    pub(super) fn group(&self, func: FuncId, interrupt: bool) -> u32 {
        match self.setup.grouping {
            Grouping::Kind if interrupt => FuncKind::Interrupt as u32,
            _ => self.role(func).group,
        }
    }

    /// Whether events carry their times.
    pub(super) fn is_recorded(&self) -> bool {
        self.setup.timebase.timeline == Timeline::Recorded
    }

    #[inline]
    pub(super) fn window_is_unset(&self) -> bool {
        self.is_windowed && self.window.from.is_none() && self.window.until.is_none()
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
        diags.add(code, 1, || setup.sample(view, offset, message()));
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
