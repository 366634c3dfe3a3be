/*
 * The commands of a shell line, without running it: what `sh -c` gets is read word by word as a shell would, so that a
 * redirection, a pattern or a here-document is not taken for something else. The line is hostile. Reading it is advice:
 * what a line computes (`$(echo /e)tc`) is not known before it runs, and no one relies on this to keep it out.
 *
 * Known variables are replaced; a word with anything else that only the shell can compute contains UNKNOWN there.
 */

/** Stands in a word for what only the shell can compute. */
export const UNKNOWN = '\ufffc';

/** One command of a line: its words without assignments and keywords, and the files that it is redirected to. */
export type LineCommand = { readonly words: readonly string[]; readonly files: readonly string[] };

/** What was found in a line; not complete where it is nested deeper than is read. */
export type ReadLine = { readonly commands: readonly LineCommand[]; readonly isComplete: boolean };

type Variables = Readonly<Record<string, string>>;

/** Deeper substitutions are not read. */
const MAX_DEPTH = 16;
const KEYWORDS = new Set('if then else elif fi while until do done { } ! time coproc in'.split(' '));
const ASSIGNMENT = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/;
const REDIRECTION = /(?:&>>?|<<<|<<-?|<>|[<>]&|>>|>\||[<>])/y;
const NAME = /[A-Za-z_]\w*|[0-9@*#?$!-]/y;

export function readLine(line: string, variables: Variables = {}): ReadLine {
  const reader = new LineReader(line, variables, 0);
  reader.read(null);
  return reader;
}

class LineReader implements ReadLine {
  readonly commands: LineCommand[] = [];
  isComplete = true;
  readonly #text: string;
  readonly #variables: Variables;
  readonly #depth: number;
  #at = 0;
  #words: string[] = [];
  #files: string[] = [];
  /** The word that is being read; null between words. */
  #word: string | null = null;
  #isQuoted = false;
  /** The operator whose target the next word is. */
  #redirection: string | null = null;
  /** The delimiters of here-documents that begin at the next line. */
  #documents: string[] = [];
  /** The `case` statements that are open. */
  #cases = 0;

  constructor(text: string, variables: Variables, depth: number) {
    this.#text = text;
    this.#variables = variables;
    this.#depth = depth;
  }

  /** Reads to the end, or to the closing bracket of a substitution; returns the position behind it. */
  read(closing: ')' | null, from = 0): number {
    this.#at = from;
    let open = 0;
    while (this.#at < this.#text.length) {
      const sign = this.#text.charAt(this.#at);
      if (sign === '(') open += 1;
      if (sign === ')' && open === 0 && closing !== null) break;
      if (sign === ')') open = Math.max(0, open - 1);
      this.#step(sign);
    }
    this.#endCommand();
    return this.#at + 1;
  }

  #step(sign: string): void {
    if (sign === '\n') this.#newLine();
    else if (sign === ' ' || sign === '\t' || sign === '\r') this.#skip(() => this.#endWord());
    else if (sign === '#' && this.#word === null) this.#skipTo('\n');
    else if ('<>&|()'.includes(sign) && this.#words[0] === '[[') this.#skip(() => this.#endWord());
    else if (sign === '<' || sign === '>' || (sign === '&' && this.#text[this.#at + 1] === '>'))
      this.#redirect();
    else if (';&|()'.includes(sign)) this.#endAt(sign);
    else this.#readPart(sign, false);
  }

  /** One sign, quotation or expansion of a word. */
  #readPart(sign: string, isInQuotes: boolean): void {
    if (sign === '\\') this.#escape(isInQuotes);
    else if (sign === "'" && !isInQuotes) this.#quoteLiteral();
    else if (sign === '"' && !isInQuotes) this.#quote();
    else if (sign === '`') this.#substituteOld();
    else if (sign === '$') this.#expand(isInQuotes);
    else this.#skip(() => this.#add(sign));
  }

  #add(text: string): void {
    this.#word = (this.#word ?? '') + text;
  }

  #skip(act: () => void): void {
    this.#at += 1;
    act();
  }

  #skipTo(end: string): string {
    const found = this.#text.indexOf(end, this.#at);
    const until = found < 0 ? this.#text.length : found;
    const skipped = this.#text.slice(this.#at, until);
    this.#at = until;
    return skipped;
  }

  #escape(isInQuotes: boolean): void {
    const next = this.#text.charAt(this.#at + 1);
    this.#at += 2;
    if (next === '\n') return;
    this.#add(isInQuotes && !'$`"\\'.includes(next) ? `\\${next}` : next);
    this.#isQuoted = true;
  }

  #quoteLiteral(): void {
    this.#at += 1;
    this.#add(this.#skipTo("'"));
    this.#at += 1;
    this.#isQuoted = true;
  }

  #quote(): void {
    this.#at += 1;
    this.#add('');
    this.#isQuoted = true;
    while (this.#at < this.#text.length && this.#text.charAt(this.#at) !== '"')
      this.#readPart(this.#text.charAt(this.#at), true);
    this.#at += 1;
  }

  #expand(isInQuotes: boolean): void {
    const rest = this.#text.slice(this.#at + 1, this.#at + 3);
    if (rest === '((') this.#unknown(() => this.#skipTo('))'), 2);
    else if (rest.startsWith('(')) this.#unknown(() => this.#substitute(this.#at + 2), 0);
    else if (rest.startsWith('{')) this.#expandBraced();
    else if (rest.startsWith("'") && !isInQuotes) this.#skip(() => this.#quoteLiteral());
    else {
      NAME.lastIndex = this.#at + 1;
      const name = NAME.exec(this.#text)?.[0] ?? '';
      this.#at += 1 + name.length;
      this.#add(name === '' ? '$' : this.#valueOf(name));
    }
  }

  #expandBraced(): void {
    this.#at += 2;
    const inner = this.#skipTo('}');
    this.#at += 1;
    this.#add(this.#valueOf(inner));
  }

  #valueOf(name: string): string {
    return Object.hasOwn(this.#variables, name) ? (this.#variables[name] ?? UNKNOWN) : UNKNOWN;
  }

  #unknown(act: () => void, after: number): void {
    act();
    this.#at += after;
    this.#add(UNKNOWN);
  }

  /** The commands of `$(…)`, `<(…)` and `>(…)` are commands of the line. */
  #substitute(from: number): void {
    const inner = this.#nested(this.#text);
    this.#at = inner === null ? this.#text.length : inner.read(')', from);
    if (inner !== null) this.#take(inner);
  }

  #substituteOld(): void {
    this.#at += 1;
    const text = this.#skipTo('`');
    this.#at += 1;
    const inner = this.#nested(text);
    inner?.read(null);
    if (inner !== null) this.#take(inner);
    this.#add(UNKNOWN);
  }

  #nested(text: string): LineReader | null {
    if (this.#depth < MAX_DEPTH) return new LineReader(text, this.#variables, this.#depth + 1);
    this.isComplete = false;
    return null;
  }

  #take({ commands, isComplete }: ReadLine): void {
    // One at a time: a hostile line has too many for the arguments of a call.
    for (const command of commands) this.commands.push(command);
    this.isComplete &&= isComplete;
  }

  #redirect(): void {
    const isSubstitution = this.#text[this.#at + 1] === '(' && this.#text.charAt(this.#at) !== '&';
    if (isSubstitution) {
      this.#unknown(() => this.#substitute(this.#at + 2), 0);
      return;
    }
    // The number in `2>` is a descriptor.
    if (!this.#isQuoted && /^\d+$/.test(this.#word ?? '')) this.#word = null;
    this.#endWord();
    REDIRECTION.lastIndex = this.#at;
    this.#redirection = REDIRECTION.exec(this.#text)?.[0] ?? '>';
    this.#at += this.#redirection.length;
  }

  #endAt(sign: string): void {
    this.#at += 1;
    this.#endCommand();
    const isNextPattern = sign === ';' && /[;&]/.test(this.#text.charAt(this.#at)) && this.#cases > 0;
    if (!isNextPattern) return;
    this.#at += 1;
    this.#skipPattern();
  }

  /** The patterns of `case` are no paths. */
  #skipPattern(): void {
    const [space = ''] = /^(?:[\s;&]|#.*)*/.exec(this.#text.slice(this.#at)) ?? [];
    this.#at += space.length;
    if (/^esac\b/.test(this.#text.slice(this.#at, this.#at + 5))) return;
    this.#skipTo(')');
    this.#at += 1;
  }

  #newLine(): void {
    this.#at += 1;
    this.#endCommand();
    for (const delimiter of this.#documents.splice(0)) this.#skipDocument(delimiter);
  }

  #skipDocument(delimiter: string): void {
    while (this.#at < this.#text.length) {
      const line = this.#skipTo('\n');
      this.#at += 1;
      if (line.replace(/^\t+/, '') === delimiter) return;
    }
  }

  #endWord(): void {
    const word = this.#word;
    const redirection = this.#redirection;
    if (word === null) return;
    const isQuoted = this.#isQuoted;
    this.#word = null;
    this.#isQuoted = false;
    this.#redirection = null;
    if (redirection !== null) this.#noteTarget(redirection, word);
    else if (word === ']]' && this.#words[0] === '[[') this.#endCommand();
    else if (this.#words.length > 0 || !this.#isPrefix(word, isQuoted)) this.#words.push(word);
    if (word === 'in' && this.#words[0] === 'case' && this.#words.length === 3) this.#beginCase();
  }

  #beginCase(): void {
    this.#words = [];
    this.#cases += 1;
    this.#skipPattern();
  }

  #isPrefix(word: string, isQuoted: boolean): boolean {
    if (isQuoted && !ASSIGNMENT.test(word)) return false;
    if (word === 'esac') this.#cases = Math.max(0, this.#cases - 1);
    return word === 'esac' || KEYWORDS.has(word) || ASSIGNMENT.test(word);
  }

  #noteTarget(redirection: string, word: string): void {
    if (redirection === '<<' || redirection === '<<-') this.#documents.push(word);
    else if (redirection === '<<<') return;
    else if (!/^[<>]&$/.test(redirection) || !/^(?:\d+-?|-)$/.test(word)) this.#files.push(word);
  }

  #endCommand(): void {
    this.#endWord();
    this.#redirection = null;
    if (this.#words.length > 0 || this.#files.length > 0)
      this.commands.push({ words: this.#words, files: this.#files });
    this.#words = [];
    this.#files = [];
  }
}
