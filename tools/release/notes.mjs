/** The notes of a release: its section of the changelog, and how to check what was downloaded. */

/** The file in a release. */
export const NOTES = 'NOTES.md';

/** The text below the heading of a version, or of what is not released yet; undefined where there is none. */
export function sectionOf(changelog, heading) {
  const sections = changelog.split(/^## /m).slice(1);
  const found = sections.find((each) => each.split('\n', 1)[0].split(' ')[0] === heading);
  const text = found?.slice(found.indexOf('\n')).trim();
  return text === '' ? undefined : text;
}

/** Notes are read where the pages of the repository are not beside them: links into it become their names. */
function withoutLinks(text) {
  return text.replace(/\[([^\]]*)\]\((?!\w+:)([^)]*)\)/g, (_, label, target) =>
    target.split('#')[0] === label ? label : `${label} (${target})`,
  );
}

/** Writes the notes. */
export function notesOf({ version, section, files }) {
  const rows = files.map(({ name, sha256 }) => `| \`${name}\` | \`${sha256}\` |`);
  return `# Palisade ${version}

\`npm install -g palisade@${version}\`. ${INSTALL}

${withoutLinks(section)}

## Files

\`sha256sum -c SHA256SUMS\` checks all of them.

| file | sha256 |
|---|---|
${rows.join('\n')}
`;
}

const INSTALL = 'No compiler is needed; docs/install.md has the other ways.';
