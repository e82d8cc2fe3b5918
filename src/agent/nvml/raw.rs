//! Calls that nvml-wrapper 0.13 lacks or gets wrong, by symbol. A symbol that an older driver does not
//! have is `NotSupported` here: it cannot be asked, which is what the caller has to know.
#![allow(unsafe_code, reason = "NVML is a C library; each call states why it is sound")]

use std::{
    ffi::{CStr, c_uint},
    mem,
};

use nvml_wrapper::{
    Device,
    error::{NvmlError, nvml_try},
};
use nvml_wrapper_sys::bindings::{
    NvmlLib, nvmlDevice_t, nvmlGpuInstance_t, nvmlGpuInstanceInfo_t, nvmlGpuInstancePlacement_t,
    nvmlGpuInstanceProfileInfo_v2_t,
};

use crate::{
    agent::card::{GpuInstance, Profile, RemappedRows},
    gpu::Mebibytes,
};

/// Indices of GPU instance profiles that are tried. NVML numbers them from 0 and has 18 in its header of
/// API 13; more than it knows only cost an InvalidArg each.
const MOST_PROFILES: u32 = 32;

/// Version word of a versioned NVML structure: its size below, the version above (nvml.h).
const fn version<T>(number: usize) -> c_uint {
    (mem::size_of::<T>() | (number << 24)) as c_uint
}

/// GPU instance profiles of a card, with names where the driver has them.
pub(super) fn profiles(device: &Device<'_>) -> Result<Vec<Profile>, NvmlError> {
    let mut profiles = Vec::new();
    let mut unsupported = true;
    for index in 0..MOST_PROFILES {
        match profile(device, index) {
            Ok(profile) => profiles.push(profile),
            // This kind of profile is not this card's; on a card without MIG none is.
            Err(NvmlError::NotSupported) => continue,
            Err(NvmlError::InvalidArg) => {}
            Err(error) => return Err(error),
        }
        unsupported = false;
    }
    if unsupported || (profiles.is_empty() && device.mig_mode().is_err()) {
        return Err(NvmlError::NotSupported);
    }
    Ok(profiles)
}

fn profile(device: &Device<'_>, index: u32) -> Result<Profile, NvmlError> {
    let lib = device.nvml().lib();
    let ask = symbol(&lib.nvmlDeviceGetGpuInstanceProfileInfoV)?;
    // SAFETY: all fields are integers or character arrays, for which zero is a value.
    let mut info: nvmlGpuInstanceProfileInfo_v2_t = unsafe { mem::zeroed() };
    info.version = version::<nvmlGpuInstanceProfileInfo_v2_t>(2);
    // SAFETY: the handle lives as long as the library that `device` borrows; `info` has the size that
    // its version word says.
    nvml_try(unsafe { ask(device.handle(), index, &raw mut info) })?;
    // SAFETY: NVML ends the name with a zero byte within the array, which was zeroed before.
    let name = unsafe { CStr::from_ptr(info.name.as_ptr()) }.to_string_lossy();
    let name = name.strip_prefix("MIG ").unwrap_or(&name);
    Ok(Profile {
        id: info.id,
        name: (!name.is_empty()).then(|| name.to_owned()),
        memory: Mebibytes(info.memorySizeMB),
        slices: info.sliceCount,
        multiprocessors: info.multiprocessorCount,
        decoders: info.decoderCount,
        encoders: info.encoderCount,
        max_instances: info.instanceCount,
        starts: starts(device, info.id).unwrap_or_default(),
    })
}

/// Memory slices at which an instance of a profile may begin.
fn starts(device: &Device<'_>, profile: u32) -> Result<Vec<u32>, NvmlError> {
    let lib = device.nvml().lib();
    let ask = symbol(&lib.nvmlDeviceGetGpuInstancePossiblePlacements_v2)?;
    let mut count: c_uint = 0;
    // SAFETY: with no array NVML only writes the count (nvml.h).
    nvml_try(unsafe { ask(device.handle(), profile, std::ptr::null_mut(), &raw mut count) })?;
    let mut found = vec![nvmlGpuInstancePlacement_t { start: 0, size: 0 }; count as usize];
    // SAFETY: the array has `count` elements, as NVML just asked for.
    nvml_try(unsafe { ask(device.handle(), profile, found.as_mut_ptr(), &raw mut count) })?;
    found.truncate(count as usize);
    let mut starts: Vec<u32> = found.iter().map(|placement| placement.start).collect();
    starts.sort_unstable();
    Ok(starts)
}

/// GPU instances that exist, of every profile.
pub(super) fn gpu_instances(
    device: &Device<'_>,
    profiles: &[Profile],
) -> Result<Vec<GpuInstance>, NvmlError> {
    if device.mig_mode()?.current != 1 {
        return Ok(Vec::new());
    }
    let mut instances = Vec::new();
    for profile in profiles {
        instances.extend(instances_of(device, profile)?);
    }
    instances.sort_unstable_by_key(|instance: &GpuInstance| instance.id);
    Ok(instances)
}

fn instances_of(device: &Device<'_>, profile: &Profile) -> Result<Vec<GpuInstance>, NvmlError> {
    let lib = device.nvml().lib();
    let list = symbol(&lib.nvmlDeviceGetGpuInstances)?;
    let describe = symbol(&lib.nvmlGpuInstanceGetInfo)?;
    let mut count: c_uint = 0;
    let mut handles: Vec<nvmlGpuInstance_t> = vec![std::ptr::null_mut(); profile.max_instances as usize];
    // SAFETY: NVML writes at most `instanceCount` handles of the profile, the size of the array (nvml.h).
    nvml_try(unsafe { list(device.handle(), profile.id, handles.as_mut_ptr(), &raw mut count) })?;
    let mut instances = Vec::new();
    for handle in handles.into_iter().take(count as usize) {
        // SAFETY: all fields are integers or a pointer, for which zero is a value.
        let mut info: nvmlGpuInstanceInfo_t = unsafe { mem::zeroed() };
        // SAFETY: the handle was written by NVML just now.
        nvml_try(unsafe { describe(handle, &raw mut info) })?;
        instances.push(GpuInstance {
            id: info.id,
            profile_id: info.profileId,
            start: info.placement.start,
            size: info.placement.size,
        });
    }
    Ok(instances)
}

/// GPU instance of a MIG device.
pub(super) fn gpu_instance_id(mig: &Device<'_>) -> Result<u32, NvmlError> {
    id(mig, |lib| symbol(&lib.nvmlDeviceGetGpuInstanceId))
}

/// Compute instance of a MIG device.
pub(super) fn compute_instance_id(mig: &Device<'_>) -> Result<u32, NvmlError> {
    id(mig, |lib| symbol(&lib.nvmlDeviceGetComputeInstanceId))
}

type AskId = unsafe extern "C" fn(nvmlDevice_t, *mut c_uint) -> nvml_wrapper_sys::bindings::nvmlReturn_t;

fn id(mig: &Device<'_>, ask: impl Fn(&NvmlLib) -> Result<AskId, NvmlError>) -> Result<u32, NvmlError> {
    let ask = ask(mig.nvml().lib())?;
    let mut id: c_uint = 0;
    // SAFETY: the handle lives as long as the library that `mig` borrows; NVML writes one integer.
    nvml_try(unsafe { ask(mig.handle(), &raw mut id) })?;
    Ok(id)
}

/// Remapped rows of a card.
pub(super) fn remapped_rows(device: &Device<'_>) -> Result<RemappedRows, NvmlError> {
    let lib = device.nvml().lib();
    let ask = symbol(&lib.nvmlDeviceGetRemappedRows)?;
    let (mut correctable, mut uncorrectable, mut pending, mut failed) = (0, 0, 0, 0);
    // SAFETY: four integers to write to.
    nvml_try(unsafe {
        ask(device.handle(), &raw mut correctable, &raw mut uncorrectable, &raw mut pending, &raw mut failed)
    })?;
    Ok(RemappedRows { correctable, uncorrectable, pending: pending != 0, failed: failed != 0 })
}

fn symbol<F: Copy, E>(found: &Result<F, E>) -> Result<F, NvmlError> {
    found.as_ref().copied().map_err(|_| NvmlError::NotSupported)
}
