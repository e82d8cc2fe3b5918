//! The real hardware, through NVML. The library is loaded at run time; where it is missing, the agent says
//! so and goes on asking.
//!
//! What nvml-wrapper loses (profile names, placements, instance ids, remapped rows) is asked by symbol in
//! `nvml/raw.rs`, the one place of the project with `unsafe` code.

mod raw;

use std::{collections::BTreeSet, ffi::OsStr, path::PathBuf};

use nvml_wrapper::{
    Device, Nvml as Library,
    bitmasks::device::ThrottleReasons,
    cuda_driver_version_major, cuda_driver_version_minor,
    enum_wrappers::device::{ComputeMode as NvmlComputeMode, EccCounter, MemoryError},
    enums::device::UsedGpuMemory,
    error::NvmlError,
    structs::device::MigMode,
};

use super::card::{
    Answer, Card, CardSample, Cards, ComputeMode, Inventory, Memory, MigDevice, MigModes, Process, Sample,
    Unreadable,
};
use crate::gpu::Mebibytes;

/// NVML of this node.
#[derive(Debug)]
pub struct Nvml {
    library: Option<Library>,
    path: Option<PathBuf>,
    /// Time stamp (µs) of the last process sample of each card, by index.
    sampled: Vec<u64>,
}

impl Nvml {
    /// NVML from the default library path, or from `path`. Nothing is loaded yet: a driver may come later.
    #[must_use]
    pub const fn new(path: Option<PathBuf>) -> Self {
        Self { library: None, path, sampled: Vec::new() }
    }

    /// The library, loaded now if it was not.
    fn library(&mut self) -> Result<&Library, Unreadable> {
        if self.library.is_none() {
            let mut builder = Library::builder();
            // Containers carry the versioned name alone: the unversioned one belongs to development files.
            let path = self.path.as_deref().map_or(OsStr::new("libnvidia-ml.so.1"), |path| path.as_os_str());
            self.library = Some(builder.lib_path(path).init().map_err(unreadable)?);
        }
        self.library.as_ref().ok_or(Unreadable::NoDriver)
    }

    /// `result`, and the library given up where it has to be loaded anew, as after a driver's reload.
    fn keep<T>(&mut self, result: Result<T, NvmlError>) -> Result<T, Unreadable> {
        result.map_err(|error| {
            self.library = None;
            unreadable(error)
        })
    }
}

impl Cards for Nvml {
    fn inventory(&mut self) -> Result<Inventory, Unreadable> {
        let library = self.library()?;
        let count = library.device_count();
        let inventory = count.map(|count| Inventory {
            driver_version: answer(library.sys_driver_version()),
            cuda_version: answer(library.sys_cuda_driver_version()).map(|version| {
                format!("{}.{}", cuda_driver_version_major(version), cuda_driver_version_minor(version))
            }),
            nvml_version: answer(library.sys_nvml_version()),
            cards: (0..count).map(|index| card(library, index)).collect(),
        });
        self.keep(inventory)
    }

    fn sample(&mut self) -> Result<Sample, Unreadable> {
        let mut sampled = std::mem::take(&mut self.sampled);
        let library = self.library()?;
        let count = library.device_count();
        let sample = count.map(|count| {
            sampled.resize(count as usize, 0);
            let cards = sampled.iter_mut().zip(0..).filter_map(|(since, index)| {
                let device = library.device_by_index(index).ok()?;
                card_sample(&device, since)
            });
            Sample { cards: cards.collect() }
        });
        self.sampled = sampled;
        self.keep(sample)
    }
}

fn card(library: &Library, index: u32) -> Card {
    let device = match library.device_by_index(index) {
        Ok(device) => device,
        Err(error) => return unanswered(index, &error),
    };
    let profiles = raw::profiles(&device);
    let instances = match &profiles {
        Ok(profiles) => answer(raw::gpu_instances(&device, profiles)),
        Err(error) => failure(error),
    };
    let pci = device.pci_info();
    Card {
        index,
        uuid: answer(device.uuid()),
        product: answer(device.name()),
        pci_bus_id: answer_of(&pci, |pci| pci.bus_id.clone()),
        pci_device_id: answer_of(&pci, |pci| format!("0x{:08X}", pci.pci_device_id)),
        compute_capability: answer(device.cuda_compute_capability())
            .map(|found| format!("{}.{}", found.major, found.minor)),
        memory: answer(device.memory_info()).map(memory),
        mig_mode: answer(device.mig_mode()).map(mig_modes),
        mig_profiles: answer(profiles),
        gpu_instances: instances,
        mig_devices: mig_devices(&device),
        compute_mode: answer(device.compute_mode()).map(compute_mode),
        ecc: answer(device.is_ecc_enabled()).map(|ecc| ecc.currently_enabled),
        ecc_uncorrected: answer(device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile)),
        remapped_rows: answer(raw::remapped_rows(&device)),
        throttled_by: answer(device.current_throttle_reasons()).map(held_down),
        nvlink_peers: nvlink_peers(&device),
        mps_clients: answer(device.mps_running_compute_processes())
            .map(|clients| u32::try_from(clients.len()).unwrap_or(u32::MAX)),
    }
}

/// A card of which not even a handle could be had.
fn unanswered(index: u32, error: &NvmlError) -> Card {
    Card {
        index,
        uuid: failure(error),
        product: failure(error),
        pci_bus_id: failure(error),
        pci_device_id: failure(error),
        compute_capability: failure(error),
        memory: failure(error),
        mig_mode: failure(error),
        mig_profiles: failure(error),
        gpu_instances: failure(error),
        mig_devices: failure(error),
        compute_mode: failure(error),
        ecc: failure(error),
        ecc_uncorrected: failure(error),
        remapped_rows: failure(error),
        throttled_by: failure(error),
        nvlink_peers: failure(error),
        mps_clients: failure(error),
    }
}

fn mig_devices(device: &Device<'_>) -> Answer<Vec<MigDevice>> {
    // 0 with MIG off, also on a card that can do MIG.
    let most = match device.mig_device_count() {
        Ok(most) => most,
        Err(error) => return failure(&error),
    };
    let mut devices = Vec::new();
    for index in 0..most {
        match device.mig_device_by_index(index) {
            Ok(mig) => devices.push(MigDevice {
                uuid: answer(mig.uuid()),
                gpu_instance: answer(raw::gpu_instance_id(&mig)),
                compute_instance: answer(raw::compute_instance_id(&mig)),
                memory: answer(mig.memory_info()).map(|memory| mebibytes(memory.total)),
            }),
            // Indices have holes where instances were destroyed.
            Err(NvmlError::NotFound) => {}
            Err(error) => return failure(&error),
        }
    }
    Answer::Value(devices)
}

fn nvlink_peers(device: &Device<'_>) -> Answer<Vec<String>> {
    let mut peers = BTreeSet::new();
    // NVML_NVLINK_MAX_LINKS of the bindings; links past the last answer InvalidArg.
    for link in 0..nvml_wrapper_sys::bindings::NVML_NVLINK_MAX_LINKS {
        let link = device.link_wrapper_for(link);
        match link.is_active() {
            Ok(true) => {}
            Ok(false) => continue,
            Err(NvmlError::InvalidArg) => break,
            Err(error) => return failure(&error),
        }
        match link.remote_pci_info() {
            Ok(peer) => drop(peers.insert(peer.bus_id)),
            Err(error) => return failure(&error),
        }
    }
    Answer::Value(peers.into_iter().collect())
}

fn card_sample(device: &Device<'_>, since: &mut u64) -> Option<CardSample> {
    Some(CardSample {
        uuid: device.uuid().ok()?,
        memory_used: answer(device.memory_info()).map(|memory| mebibytes(memory.used)),
        busy_percent: answer(device.utilization_rates()).map(|rates| rates.gpu),
        encoder_percent: answer(device.encoder_utilization()).map(|used| used.utilization),
        decoder_percent: answer(device.decoder_utilization()).map(|used| used.utilization),
        throttled_by: answer(device.current_throttle_reasons()).map(held_down),
        processes: processes(device, since),
    })
}

/// Processes with a context, joined with what each used since the last call.
fn processes(device: &Device<'_>, since: &mut u64) -> Answer<Vec<Process>> {
    let running = match device.running_compute_processes() {
        Ok(running) => running,
        Err(error) => return failure(&error),
    };
    let shares = shares(device, since);
    let process = |process: nvml_wrapper::struct_wrappers::device::ProcessInfo| Process {
        pid: process.pid,
        memory: match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(mebibytes(bytes)),
            UsedGpuMemory::Unavailable => None,
        },
        sm_percent: shares.as_ref().map(|shares| {
            shares.iter().filter(|share| share.0 == process.pid).map(|share| share.1).max().unwrap_or(0)
        }),
        gpu_instance: process.gpu_instance_id,
    };
    Answer::Value(running.into_iter().map(process).collect())
}

/// (pid, SM percent) of the processes that used the card since `since`; `None` where it cannot be
/// measured. NVML lists only processes with some use, and answers NotFound where there are none.
fn shares(device: &Device<'_>, since: &mut u64) -> Option<Vec<(u32, u32)>> {
    let samples = match device.process_utilization_stats(*since) {
        Ok(samples) => samples,
        Err(NvmlError::NotFound) => Vec::new(),
        Err(_) => return None,
    };
    *since = samples.iter().map(|sample| sample.timestamp).max().unwrap_or(*since);
    Some(samples.into_iter().map(|sample| (sample.pid, sample.sm_util)).collect())
}

fn memory(found: nvml_wrapper::struct_wrappers::device::MemoryInfo) -> Memory {
    Memory {
        total: mebibytes(found.total),
        reserved: mebibytes(found.reserved),
        usable: mebibytes(found.total.saturating_sub(found.reserved)),
    }
}

const fn mig_modes(found: MigMode) -> MigModes {
    MigModes { current: found.current == 1, pending: found.pending == 1 }
}

const fn compute_mode(found: NvmlComputeMode) -> ComputeMode {
    match found {
        NvmlComputeMode::Default => ComputeMode::Default,
        NvmlComputeMode::ExclusiveProcess => ComputeMode::ExclusiveProcess,
        NvmlComputeMode::Prohibited => ComputeMode::Prohibited,
        NvmlComputeMode::ExclusiveThread => ComputeMode::Other,
    }
}

/// Reasons that take speed from who works: an idle card, or clocks that someone set, do not.
fn held_down(reasons: ThrottleReasons) -> Vec<String> {
    let quiet = ThrottleReasons::GPU_IDLE | ThrottleReasons::APPLICATIONS_CLOCKS_SETTING;
    let words = (reasons - quiet).iter_names().map(|(name, _)| name.to_ascii_lowercase().replace('_', "-"));
    words.collect()
}

const fn mebibytes(bytes: u64) -> Mebibytes {
    Mebibytes(bytes >> 20)
}

fn answer<T>(result: Result<T, NvmlError>) -> Answer<T> {
    match result {
        Ok(value) => Answer::Value(value),
        Err(error) => failure(&error),
    }
}

fn answer_of<T, U>(result: &Result<T, NvmlError>, of: impl FnOnce(&T) -> U) -> Answer<U> {
    match result {
        Ok(value) => Answer::Value(of(value)),
        Err(error) => failure(error),
    }
}

fn failure<T>(error: &NvmlError) -> Answer<T> {
    match error {
        NvmlError::NotSupported => Answer::NotSupported,
        NvmlError::NoPermission => Answer::NoPermission,
        NvmlError::GpuLost => Answer::Lost,
        other => Answer::Failed(other.to_string()),
    }
}

fn unreadable(error: NvmlError) -> Unreadable {
    match error {
        NvmlError::LibloadingError(why) => Unreadable::NoLibrary(why.to_string()),
        NvmlError::LibraryNotFound => Unreadable::NoLibrary("not found".to_owned()),
        NvmlError::DriverNotLoaded => Unreadable::NoDriver,
        NvmlError::LibRmVersionMismatch => Unreadable::VersionMismatch,
        NvmlError::NoPermission => Unreadable::NoPermission,
        other => Unreadable::Failed(other.to_string()),
    }
}
