//! Markdown files with a YAML frontmatter: read the head, read the whole, list a folder, write one. No file has a meaning here.
