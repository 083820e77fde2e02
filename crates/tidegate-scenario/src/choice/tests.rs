//! The names of choices are those of the registries.

use super::*;

#[test]
fn every_choice_reads_its_own_names() {
    for (name, kind, _) in sources() {
        assert_eq!(SourceKind::read(&Scalar::Text(name.into())), Ok(kind));
        assert_eq!(kind.name(), name);
    }
    for (name, kind, _) in schedulers() {
        assert_eq!(SchedulerName::read(&Scalar::Text(name.into())), Ok(kind));
    }
    let error = SchedulerName::read(&Scalar::Text("strict_priority".into())).unwrap_err();
    assert!(error.contains("did you mean `strict-priority`?"), "{error}");
}
