//! What is measured in a row, and what is measured again because the machine was not left alone.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::contender::Contender;
use crate::crowd::{Crowd, JSON_HANDLERS_MAX};
use crate::idle::idle;
use crate::measure::{Bench, MEASURES, Plan, RELOAD_MEASURES};
use crate::report::{self, Scale};
use crate::resources::resources;
use crate::results::{Metric, Results, Run, STOLEN_MAX};
use crate::started::started;
use crate::stolen::{CALM_MAX, await_calm};
use crate::subject::Subject;

/// A first list that takes longer than this is not measured again.
const LONG_SYNC: f64 = 10.0;

/// A series of measures.
pub struct Session {
    bench: Bench,
    contenders: Vec<Contender>,
    plan: Plan,
    /// What is left of it.
    patience: Duration,
    /// Whether the last run was disturbed, as far as is known.
    is_disturbed: bool,
    results: Results,
}

impl Session {
    /// What is measured comes to these results.
    pub fn new(
        bench: Bench,
        contenders: Vec<Contender>,
        plan: Plan,
        patience: Duration,
        results: Results,
    ) -> Self {
        Self { bench, contenders, plan, patience, is_disturbed: true, results }
    }

    /// Everything that was measured.
    pub fn into_results(self) -> Results {
        self.results
    }

    /// Everything at one number of pods, contender by contender; of variants only where it is their round.
    pub async fn main_round(&mut self, pods: u32, few: u32, variants: bool) -> anyhow::Result<()> {
        for contender in self.contenders.clone() {
            if variants || !contender.is_variant() {
                self.memory(contender, few, false).await?;
                let plan = self.plan;
                let run = async |bench: &Bench| bench.run(contender, pods, &plan).await;
                self.calmly(contender.title(), run).await?;
            }
        }
        Ok(())
    }

    /// First list and memory at other numbers of pods, and everything listed again at the highest.
    pub async fn sizes(&mut self, sizes: &[u32]) -> anyhow::Result<()> {
        let most = sizes.iter().max().copied().unwrap_or(0);
        for pods in sizes {
            for contender in self.informers() {
                for _ in 0..MEASURES {
                    let run = self.memory(contender, *pods, *pods == most).await?;
                    if run.metrics.get(&Metric::SyncSeconds).is_some_and(|took| *took > LONG_SYNC) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    async fn memory(
        &mut self,
        contender: Contender,
        pods: u32,
        relists: bool,
    ) -> anyhow::Result<Run> {
        let plan = Plan { burst: 0, relists, ..self.plan };
        let run = async |bench: &Bench| bench.run(contender, pods, &plan).await;
        self.calmly(contender.title(), run).await
    }

    /// These subjects, but for the one of the rounds: reloads, many resources, idle plugins, many plugins.
    pub async fn subjects(&mut self, scale: &Scale, subjects: &[Subject]) -> anyhow::Result<()> {
        for subject in subjects {
            for crowd in scale.crowds.of_subject(*subject) {
                self.crowd(*subject, crowd).await?;
            }
            if self.contenders.contains(&Contender::Informant) {
                self.of_the_host(scale, *subject).await?;
            }
        }
        Ok(())
    }

    /// What only the host has.
    async fn of_the_host(&mut self, scale: &Scale, subject: Subject) -> anyhow::Result<()> {
        match subject {
            Subject::Reload => self.reloads(scale.reload_pods).await,
            Subject::Resources => self.resources(&scale.resources).await,
            Subject::IdleRust | Subject::IdleText | Subject::IdleC => {
                self.idle_plugins(subject, (scale.few, scale.idle)).await
            }
            _ => Ok(()),
        }
    }

    /// Many plugins, and as many handlers of other contenders where they can have such.
    async fn crowd(&mut self, subject: Subject, crowd: Crowd) -> anyhow::Result<()> {
        let plan = self.plan;
        let has = |one: &Contender| match one {
            Contender::Informant => true,
            Contender::ClientGoJson => {
                subject == Subject::Everything && crowd.handlers <= JSON_HANDLERS_MAX
            }
            _ => subject.is_of_all(),
        };
        for contender in self.informers().into_iter().filter(has) {
            for _ in 0..MEASURES {
                let run = async |bench: &Bench| match subject {
                    Subject::Started => {
                        started(&bench.load, &bench.programs, crowd, plan.settle).await
                    }
                    Subject::Replaced => bench.replaced(crowd, &plan).await,
                    _ => bench.crowd(contender, subject, crowd, &plan).await,
                };
                self.calmly(contender.title(), run).await?;
            }
        }
        Ok(())
    }

    async fn reloads(&mut self, pods: u32) -> anyhow::Result<()> {
        let plan = self.plan;
        for _ in 0..RELOAD_MEASURES {
            let run = async |bench: &Bench| bench.reload(pods, &plan).await;
            self.calmly("reloads", run).await?;
        }
        Ok(())
    }

    async fn resources(&mut self, sizes: &[(u32, u32)]) -> anyhow::Result<()> {
        let settle = self.plan.settle;
        for size in sizes {
            for _ in 0..MEASURES {
                let run = async |bench: &Bench| resources(&bench.programs, *size, settle).await;
                self.calmly("many resources", run).await?;
            }
        }
        Ok(())
    }

    /// Of a kind that is built; that one is not is said loudly.
    async fn idle_plugins(&mut self, subject: Subject, sizes: (u32, u32)) -> anyhow::Result<()> {
        // What is free goes back to the system within some seconds.
        let settle = self.plan.settle * 5;
        let built = self.bench.programs.idle_plugin(subject);
        if !built.is_some_and(|file| file.exists()) {
            writeln!(
                std::io::stderr(),
                "SKIPPED idle plugins ({subject:?}): none of that kind is built (make plugins c-plugins)"
            )?;
            return Ok(());
        }
        for _ in 0..MEASURES {
            let run = async |bench: &Bench| {
                idle(&bench.load, &bench.programs, subject, sizes, settle).await
            };
            self.calmly("idle plugins", run).await?;
        }
        Ok(())
    }

    /// Contenders that differ as informers.
    fn informers(&self) -> Vec<Contender> {
        let is_one = |one: &Contender| ![Contender::KubeRsPages, Contender::Process].contains(one);
        self.contenders.iter().copied().filter(is_one).collect()
    }

    /// A run, when the machine is left alone; made again if it was not, as long as patience lasts. The calmest one counts, and is kept.
    async fn calmly(
        &mut self,
        what: &str,
        measure: impl AsyncFn(&Bench) -> anyhow::Result<Run>,
    ) -> anyhow::Result<Run> {
        let mut calmest: Option<Run> = None;
        loop {
            if self.is_disturbed {
                let begin = Instant::now();
                await_calm(begin + self.patience).await?;
                self.patience = self.patience.saturating_sub(begin.elapsed());
            }
            let begin = Instant::now();
            let run = measure(&self.bench).await.with_context(|| what.to_owned())?;
            let stolen = run.stolen();
            self.is_disturbed = stolen > CALM_MAX;
            let run = match calmest.take() {
                Some(before) if before.stolen() <= stolen => before,
                _ => run,
            };
            if run.stolen() <= STOLEN_MAX || self.patience.is_zero() {
                self.keep(&run)?;
                return Ok(run);
            }
            self.patience = self.patience.saturating_sub(begin.elapsed());
            let stolen = stolen * 100.0;
            say(&format!("{what}: {stolen:.1} % of the machine's time was stolen; once more"))?;
            calmest = Some(run);
        }
    }

    fn keep(&mut self, run: &Run) -> anyhow::Result<()> {
        let (title, handlers) = (run.contender.title(), run.handlers);
        say(&format!("{title}, {:?}, {} pods, {handlers} handlers", run.subject, run.pods))?;
        for (metric, value) in &run.metrics {
            say(&format!("    {metric:?}: {}", report::shown(*metric, *value)))?;
        }
        self.results.runs.push(run.clone());
        Ok(())
    }
}

/// Says what is going on.
pub fn say(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}
