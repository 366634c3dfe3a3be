import { wrongUsage } from './input.ts';
import type { Flag, Invocation, Verb } from './verb.ts';
import { COMMON_FLAGS, FIRST_WORDS, VERBS } from './verbs.table.ts';

/** The completion script of a shell, made from the table of verbs; null for an unknown shell. */
export function completionScript(shell: string): string | null {
  if (shell === 'bash') return bashScript();
  if (shell === 'zsh') return zshScript();
  return shell === 'fish' ? fishScript() : null;
}

/** Sets `found` to what may follow the words in `first` and `second`, in the language that bash and zsh share. */
function casesOf(): string {
  const caseOf = ({ words, flags }: Verb) => `    "${words}") found="${flagNames(flags)}" ;;`;
  const groups = FIRST_WORDS.filter((first) => secondWords(first).length > 0).map(
    (first) => `    "${first}") found="${secondWords(first).join(' ')} $common" ;;`,
  );
  return `  case "$first$second" in
    "") found="${FIRST_WORDS.join(' ')} --help --version" ;;
${VERBS.map(caseOf).join('\n')}
    *) case "$first" in
${groups.join('\n')}
${VERBS.filter(({ words }) => !words.includes(' '))
  .map(caseOf)
  .join('\n')}
    esac ;;
  esac`;
}

function bashScript(): string {
  return `# palisade completion
_palisade() {
  local common="${flagNames([])}" found="" current="\${COMP_WORDS[COMP_CWORD]}"
  local first="" second="" i
  # After -- come the arguments of a command, which are completed as files.
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [ "\${COMP_WORDS[i]}" = -- ]; then COMPREPLY=(); return; fi
  done
  [ "$COMP_CWORD" -gt 1 ] && first="\${COMP_WORDS[1]}"
  [ "$COMP_CWORD" -gt 2 ] && case "\${COMP_WORDS[2]}" in -*) ;; *) second=" \${COMP_WORDS[2]}" ;; esac
${casesOf()}
  COMPREPLY=($(compgen -W "$found" -- "$current"))
}
complete -o default -F _palisade palisade
`;
}

/** For a folder of fpath, where it is a function that is loaded when it is needed, and for \`source\`. */
function zshScript(): string {
  return `#compdef palisade
_palisade() {
  local common="${flagNames([])}" found="" first="" second=""
  local -i i
  # After -- come the arguments of a command, which are completed as files.
  for ((i = 2; i < CURRENT; i++)); do
    if [[ $words[i] == -- ]]; then _files; return; fi
  done
  (( CURRENT > 2 )) && first=$words[2]
  (( CURRENT > 3 )) && [[ $words[3] != -* ]] && second=" $words[3]"
${casesOf()}
  compadd -- \${=found} || _files
}
if [[ $funcstack[1] == _palisade ]]; then _palisade "$@"; else compdef _palisade palisade; fi
`;
}

function fishScript(): string {
  const lines = ['# palisade completion', 'complete -c palisade -f'];
  for (const first of FIRST_WORDS) {
    lines.push(`complete -c palisade -n __fish_use_subcommand -a ${first} -d '${quoted(sentenceOf(first))}'`);
  }
  for (const { words, args, sentence, flags } of VERBS) {
    const [first = '', second] = words.split(' ');
    const seen = `__fish_seen_subcommand_from ${first}`;
    if (second !== undefined)
      lines.push(`complete -c palisade -n '${seen}' -a ${second} -d '${quoted(sentence)}'`);
    const inside = second === undefined ? seen : `${seen}; and __fish_seen_subcommand_from ${second}`;
    if (args.some(isPath)) lines.push(`complete -c palisade -n '${inside}' -F`);
    for (const flag of flags) lines.push(`complete -c palisade -n '${inside}' ${fishFlag(flag)}`);
  }
  for (const flag of COMMON_FLAGS) lines.push(`complete -c palisade ${fishFlag(flag)}`);
  return `${lines.join('\n')}\n`;
}

function fishFlag({ name, value, sentence }: Flag): string {
  const takes = value === null ? '' : isPath(value) ? ' -r -F' : ' -r';
  return `-l ${name}${takes} -d '${quoted(sentence)}'`;
}

function isPath(word: string): boolean {
  return /FILE|DIR/.test(word);
}

/** The second words of the verbs that begin with a word. */
function secondWords(first: string): readonly string[] {
  return VERBS.map(({ words }) => words.split(' ')).flatMap(([each, second]) =>
    each === first && second !== undefined ? [second] : [],
  );
}

function sentenceOf(first: string): string {
  const inGroup = secondWords(first).join(', ');
  return inGroup || (VERBS.find(({ words }) => words === first)?.sentence ?? '');
}

function flagNames(flags: readonly { readonly name: string }[]): string {
  return [...flags, ...COMMON_FLAGS].map(({ name }) => `--${name}`).join(' ');
}

function quoted(text: string): string {
  return text.replaceAll("'", "\\'");
}

export async function completion({ args: [shell = ''], print }: Invocation): Promise<number> {
  const script = completionScript(shell);
  if (script === null) throw wrongUsage(`Cannot print the script for "${shell}": expected bash, zsh or fish`);
  if (print.json) print.document({ shell, script });
  else await print.exact(script);
  return 0;
}
