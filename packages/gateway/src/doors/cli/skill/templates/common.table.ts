/**
 * The files that a new skill has in every language. `%NAME%` is replaced by a value; in skill.toml it is written as TOML.
 * The two tools are the same in each language, and so are their tests.
 */

const TEXT_INPUT = `{
  "type": "object",
  "properties": {
    "text": { "type": "string", "maxLength": 100000, "description": "The text." }
  },
  "required": ["text"],
  "additionalProperties": false
}
`;

export const COMMON_FILES: Readonly<Record<string, string>> = {
  'skill.toml': `# What this skill is, what it offers and what it requests. Every key: docs/skill-package.md of palisade.
skill_id = %ID%
name = %NAME%
version = "0.1.0"
publisher = %PUBLISHER%
description = "Counts what a text has, and makes short names of titles."

[[entrypoints.tools]]
id = "count"
name = "Count"
description = "Counts the characters, the lines and the words of a text."
risk = "low"
module = "%MODULE%"
export = "count"
input_schema = "schemas/text.input.json"
output_schema = "schemas/count.output.json"
[entrypoints.tools.annotations]
read_only = true
destructive = false
idempotent = true
open_world = false

[[entrypoints.tools]]
id = "slug"
name = "Short name"
description = "Makes a short name of a title: small letters and digits, with dashes between them."
risk = "low"
module = "%MODULE%"
export = "slug"
input_schema = "schemas/text.input.json"
output_schema = "schemas/slug.output.json"
[entrypoints.tools.annotations]
read_only = true
destructive = false
idempotent = true
open_world = false

# It requests no capability: it gets a text and returns a result. Capabilities go under [capabilities].

[compat]
abi = 1
palisade_min = %VERSION%

[build]
language = "%LANGUAGE%"
modules = [{ source = "%SOURCE%", module = "%MODULE%" }]
`,

  'SKILL.md': `---
name: %SLUG%
description: Counts the characters, lines and words of a text, and makes short names of titles for links and files.
---

# %TITLE%

- \`%PLAIN_ID%.count\` takes a text and gives how many characters, lines and words it has. Use it instead of counting
  yourself.
- \`%PLAIN_ID%.slug\` takes a title and gives a short name of small letters and digits with dashes between them, for a
  link or the name of a file. A title without any letter or digit of ASCII is an error.
`,

  'README.md': `# %TITLE%

A skill for palisade, written in %LANGUAGE_NAME%.

    palisade skill check     # the manifest, the description, the files
    palisade skill build     # %SOURCE% becomes %MODULE%
    palisade skill test      # the cases in tests/
    palisade skill pack      # one file of all this
    palisade skill sign %SLUG%-0.1.0.skill --key publisher.key --new-key

| file | what it is |
|---|---|
| \`skill.toml\` | the manifest: the tools, what they request, how they are built |
| \`SKILL.md\` | what an agent reads about the skill |
| \`%SOURCE%\` | the tools |
| \`schemas/\` | what the tools take and give |
| \`tests/\` | cases: a tool, an input, and the output or the code that must come |

Keep \`publisher.key\` private; give \`publisher.key.pub.json\` to those who will trust what you sign.
`,

  '.gitignore': `/*.wasm
/*.skill
*.key
.palisade-build-*/
node_modules/
`,

  'schemas/text.input.json': TEXT_INPUT,

  'schemas/count.output.json': `{
  "type": "object",
  "properties": {
    "characters": { "type": "integer", "minimum": 0 },
    "lines": { "type": "integer", "minimum": 0 },
    "words": { "type": "integer", "minimum": 0 }
  },
  "required": ["characters", "lines", "words"],
  "additionalProperties": false
}
`,

  'schemas/slug.output.json': `{
  "type": "object",
  "properties": {
    "slug": { "type": "string", "minLength": 1, "maxLength": 100000 }
  },
  "required": ["slug"],
  "additionalProperties": false
}
`,

  'tests/count.json': `{
  "cases": [
    {
      "name": "counts two lines",
      "tool": "count",
      "input": { "text": "how many words\\nare these" },
      "output": { "characters": 24, "lines": 2, "words": 5 }
    },
    {
      "name": "finds nothing in an empty text",
      "tool": "count",
      "input": { "text": "" },
      "output": { "characters": 0, "lines": 0, "words": 0 }
    },
    {
      "name": "counts a character once, however many bytes it has",
      "tool": "count",
      "input": { "text": "naïve 日本 🙂" },
      "output": { "characters": 10, "lines": 1, "words": 3 }
    },
    {
      "name": "takes no number for a text",
      "tool": "count",
      "input": { "text": 42 },
      "code": "registry/invalid-input"
    }
  ]
}
`,

  'tests/slug.json': `{
  "cases": [
    {
      "name": "makes a short name of a title",
      "tool": "slug",
      "input": { "text": "  Hello, World: Part 2! " },
      "output": { "slug": "hello-world-part-2" }
    },
    {
      "name": "says so where nothing is left",
      "tool": "slug",
      "input": { "text": "?!" },
      "code": "tier/tool-error"
    }
  ]
}
`,
};
