import type { Code } from '@palisade/sdk';
import { CodedError } from '../../../core/coded-error.ts';
import type { CaseResult, TriedCall } from '../../../invoke/skills/run-cases.ts';
import { type Printer, printError, printProblem, type SourceProblem } from '../printer.ts';
import { BuildFailure, type BuiltModule } from './build-modules.ts';
import { compilerProblems, withPlaces } from './compiler-problems.ts';
import { printBuilt, printCase, printCompilerOutput, printDenials } from './print-build.ts';

const MOST_LISTED = 8;
const NOTHING = { passed: 0, failed: 0, notRun: 0, buildMs: 0 };

/** What is told of the rounds of `skill dev`: as text, or as one JSON document per line with its `event`. */
export class DevReport {
  readonly #print: Printer;
  #round = NOTHING;

  constructor(print: Printer) {
    this.#print = print;
  }

  watching(folder: string): void {
    this.#tell('watching', { folder }, (print) =>
      print.note('watching', 'cyan', `  ${folder}; Ctrl-C ends it`),
    );
  }

  changed(files: readonly string[]): void {
    const more = files.length - MOST_LISTED;
    const short = `${files.slice(0, MOST_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
    this.#tell('changed', { files }, (print) => print.heading('changed', `  ${short}`));
  }

  built(built: BuiltModule): void {
    this.#round = { ...this.#round, buildMs: this.#round.buildMs + built.wallMs };
    this.#tell('built', built, (print) => printBuilt(print, built));
  }

  checked(problems: readonly SourceProblem[], warnings: readonly SourceProblem[]): void {
    if (problems.length + warnings.length === 0) return;
    this.#tell('checked', { problems, warnings }, (print) => {
      for (const problem of problems) printProblem(print, problem);
      for (const warning of warnings) printProblem(print, warning, 'warning: ');
    });
  }

  /** Lines that a tool logged. */
  logged(lines: string): void {
    for (const line of lines.trimEnd().split('\n'))
      this.#tell('log', { line }, (print) => print.styled('dim', '  log  ', line));
  }

  tested(result: CaseResult): void {
    const { case: tried, verdict, why, callId, fuel, log } = result;
    const counter = verdict === 'not-run' ? 'notRun' : verdict;
    this.#round = { ...this.#round, [counter]: this.#round[counter] + 1 };
    const { file, name, tool } = tried;
    const about = { file, name, tool, verdict, why, callId, fuel, denied: log?.denied ?? [] };
    this.#tell('case', about, (print) => printCase(print, result));
  }

  called(tool: string, { callId, outcome, usage, misses, log }: TriedCall): void {
    const { status, code } = outcome;
    const { fuel } = usage;
    const output = status === 'refused' ? null : outcome.output;
    const message = status === 'ok' ? null : outcome.message;
    const denied = log?.denied ?? [];
    this.#tell('call', { tool, callId, status, code, output, message, misses, fuel, denied }, (print) => {
      const style = status === 'ok' ? 'green' : 'red';
      print.styled(style, status, `  ${tool}  ${code}  ${fuel} fuel  ${callId}`);
      if (output !== null) print.value(output);
      for (const line of message === null ? misses : [message, ...misses]) print.line(line);
      printDenials(print, log);
    });
  }

  /** Tells of an error that ended a round, and gives its code. */
  failed(error: unknown): Code {
    if (!(error instanceof BuildFailure)) {
      printError(this.#print, error, { event: 'failed' });
      return error instanceof CodedError ? error.code : 'gateway/fault';
    }
    const { code, message, callId, output } = error;
    const problems = compilerProblems(output);
    this.#tell('build-failed', { code, message, problems, output, callId }, (print) => {
      printCompilerOutput(print, withPlaces(output));
      print.note(message);
    });
    return code;
  }

  done(code: Code, ms: number): void {
    const { passed, failed, notRun, buildMs } = this.#round;
    this.#tell('done', { code, ...this.#round, ms }, (print) => {
      const isTested = passed + failed + notRun > 0;
      const tests = isTested ? `  ${passed} passed, ${failed} failed, ${notRun} not run` : '';
      const built = buildMs === 0 ? '' : `  build ${buildMs} ms`;
      print.styled(code === 'ok' ? 'green' : 'red', code, `${tests}${built}  ${ms} ms in all`);
    });
    this.#round = NOTHING;
  }

  #tell(event: string, about: object, text: (print: Printer) => void): void {
    if (this.#print.json) this.#print.document({ event, ...about });
    else text(this.#print);
  }
}
