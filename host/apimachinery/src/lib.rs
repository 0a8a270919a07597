//! What both ends of the Kubernetes wire share: resource names, selectors, `Status`, the frames of a watch
//! and the tokens of a paged list; durations and quantities as they are written there. No I/O happens here.

mod cluster_scoped;
mod continue_token;
pub mod duration;
mod field_selector;
mod group_version_resource;
mod label_selector;
mod nearest;
pub mod quantity;
mod selectable_fields;
mod status;
pub mod watch;

#[cfg(test)]
mod fuzz;

pub use cluster_scoped::is_cluster_scoped;
pub use continue_token::{ContinueToken, ContinueTokenError};
pub use field_selector::{FieldRequirement, FieldSelector, ParseFieldSelectorError};
pub use group_version_resource::{GroupVersionResource, ParseGroupVersionResourceError};
pub use label_selector::{
    LabelRequirement, LabelSelector, LabelTest, ParseLabelSelectorError, check_label_key,
    check_label_value,
};
pub use nearest::nearest;
pub use selectable_fields::{METADATA_FIELDS, is_built_in_group, selectable_fields};
pub use status::{Status, StatusCause, StatusDetails, StatusMetadata, reason};
