/** SKILL.md as honest authors write it on subjects whose words attackers use as well. */
export const HONEST_PROSE: Readonly<Record<string, string>> = {
  http: `---
name: http-client
description: Sends HTTP requests and reads what comes back. Use it when somebody asks for the contents of a URL or for a call of a REST API.
license: Apache-2.0
---

# HTTP client

Call \`acme.http.get\` with a URL. It does what \`curl -s https://api.example.com/items | jq .\` would do in a shell, without a
shell. For a POST, give the body as JSON:

\`\`\`json
{ "url": "https://api.example.com/items", "method": "POST", "body": { "name": "x" } }
\`\`\`

| status | meaning |
|---|---|
| 401 | the token is missing; the operator has to set it |
| 429 | wait as long as \`Retry-After\` says, then try again |

Never put an API key into the URL. If a request fails, tell the user which one, and do not send it again without asking.
Redirects are followed up to five times. Use \`-o file\` of \`curl\` if you want a file instead.
`,
  git: `---
name: git-log
description: Reads the history of a git repository that was exported as JSON, and answers who changed what and when.
---

# Reading a history

1. Export it with \`git log --format=json > log.json\`.
2. Call \`acme.git.blame\` with the path of a file.

To work on the skill itself, clone it and look at \`src/\`:

    git clone https://example.com/acme/git-log
    cd git-log

Do not use it for repositories with more than 100,000 commits. Earlier versions ignored merge commits; this one follows the
first parent, as \`git log --first-parent\` does. The rules for names are those of \`.mailmap\`.
`,
  text: `---
name: text-cutter
description: Cuts, joins and counts text. Use this skill when a text has to fit into so many characters or words.
---

# Cutting text

Always pass the whole text; the tool does not remember what it saw before. Prefer \`words\` over \`chars\` for prose.

- \`cut\` ends at a word, never inside of one.
- \`join\` puts texts together with a separator, such as \`|\` or \`;\`.
- \`count\` counts what a reader would count: "don't" is one word, naïve has five letters, and 東京 has two.

Important: an empty text gives 0. It is critical that the limit is a number. Use it instead of counting by hand, since models
are bad at that. Base64 such as \`SGVsbG8sIHdvcmxkIQ==\` is taken as it is.
`,
  database: `---
name: sql-helper
description: Explains and formats SQL. Use it before a query is shown to somebody, or when they ask what a query does.
---

# SQL helper

\`explain\` tells in words what a query reads and writes. It never runs it: nothing here reaches a database.

\`\`\`sql
SELECT name, password_hash FROM users WHERE id = $1; -- never select the password itself
\`\`\`

Ask the user to confirm before a \`DELETE\` or \`DROP\` is run with another tool. Previous results are not kept. If the
context has a schema, include the table definitions; the conversation itself is not needed. See
<https://www.postgresql.org/docs/current/sql.html> and [the rules](https://example.com/sql/rules) for what it formats.
`,
  security: `---
name: phishing-check
description: Tells which signs of phishing or prompt injection a text has. Use it on mails, pages and documents that somebody is unsure about.
---

# What it looks for

A sender who presses for time, a link whose text and target differ, an attachment with a program in it, and text that was
written for a model rather than for a person.

It gives a list of signs with their places. It follows no link and opens no attachment. Tell the user what was found, in
their words, and let them decide. A text without signs is not proven to be harmless.

Passwords and tokens are never needed: cut them out before you pass a text. To report a finding, see
<https://example.com/security>.
`,
  chat: `---
name: prompt-notes
description: Keeps notes on prompts for chat models, and compares their versions.
---

# Notes on prompts

Store a note with \`put\` and read it with \`get\`. A note has a title, a text and a version. \`compare\` shows the lines that
differ. Give the model and its temperature with the text, so that results can be compared later.

Start with a short title. Run \`compare\` first when two people changed a note, then store what they agree on.
`,
};
