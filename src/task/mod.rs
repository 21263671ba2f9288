//! A unit of dispatched work as files: brief, directory, progress, report. Who runs it and when is decided in `runtime`.
