//! The names of choices are those of the registries.

use super::*;

#[test]
fn every_choice_reads_its_own_names() {
    for &kind in SourceKind::ALL {
        assert_eq!(SourceKind::read(&Scalar::Text(kind.name().into())), Ok(kind));
    }
    for &kind in SchedulerKind::ALL {
        assert_eq!(SchedulerName::read(&Scalar::Text(kind.name().into())), Ok(SchedulerName(kind)));
    }
    for &definition in Conformance::ALL {
        assert_eq!(ConformanceName::read(&Scalar::Text(definition.name().into())), Ok(ConformanceName(definition)));
    }
    let error = SchedulerName::read(&Scalar::Text("strict_priority".into())).unwrap_err();
    assert!(error.contains("did you mean `strict-priority`?"), "{error}");
}
