/**
 * A client of `lsdt serve`, for Node 20 or newer and for browsers: one file without dependencies.
 *
 *     import { Lsdt } from "./lsdt.js";
 *
 *     const lsdt = new Lsdt({ url: "http://127.0.0.1:8900", key: process.env.LSDT_KEY });
 *     const { decisions: [decision] } = await lsdt.ask("drinks", { unit: "user-17" });
 *     await lsdt.tell("drinks", { decision: decision.id, reward: 1 });
 *
 * Requests are repeated while the service is busy or cannot be reached, and nothing happens twice: asks and
 * observations carry an idempotency key, and what may not be repeated is not. Errors are exceptions named as in
 * Python, with the problem details of the service.
 *
 * Everything below the line "generated" is made from the service's own tables by `make_client.py`.
 */

/** How a client behaves. */
export interface LsdtOptions {
  /** The address of the service, such as `http://127.0.0.1:8900`. */
  url: string;
  /** What `lsdt keys add` printed. Never put a key with the role `admin` into a page. */
  key?: string | undefined;
  /** Milliseconds for one attempt; calls in which the service computes for long have at least ten minutes. */
  timeout?: number | undefined;
  /** How often a request is repeated. */
  retries?: number | undefined;
  /** What sends requests, in place of the global `fetch`. */
  fetch?: typeof fetch | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call; it then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Milliseconds for one attempt. */
  timeout?: number | undefined;
  /** How often the request is repeated. */
  retries?: number | undefined;
  /** For `ask` and `observe`: the same key again is answered the same, also from another process. */
  idempotencyKey?: string | undefined;
}

/** A file to send as it is: its media type and its bytes. */
export interface FileBody<T extends string> {
  type: T;
  data: Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | string;
}

/** An error of the service, or (with status 0) of the way there. */
export class LsdtError extends Error {
  /** The status of the answer; 0 where there was none. */
  readonly status: number;
  /** What the service says of it (RFC 9457); undefined where the answer was not from the service. */
  readonly problem: Problem | undefined;

  constructor(message: string, status: number, problem?: Problem, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.status = status;
    this.problem = problem;
  }
}

/** The service cannot be reached, or did not answer in time. */
export class ConnectionFailed extends LsdtError {}

/** The problem details of an error, with the class of the error in Python as `title`. */
export type Problem = ProblemDetails & { [more: string]: unknown };

/** An event of the log. Missing is what does not belong to such an event. */
export interface LogEvent {
  position: number;
  /** Seconds since 1970. */
  time: number;
  event: string;
  decision: number | null;
  arm: ArmId | null;
  reward: number | null;
  propensity: number | null;
  /** Of a unit that was there before, the number of its first decision. */
  first: number | null;
  tolerance: number | null;
  by: string | null;
  reason: string | null;
}

/** What `stream` yields. */
export type StreamEvent = { event: "state"; data: About } | { event: "stopping"; data: StoppingForecast };

/** What a webhook is sent. */
export interface WebhookMessage {
  id: string;
  type: WebhookEvent;
  timestamp: string;
  data: { experiment: string | null; text: string; [more: string]: unknown };
}

/** An arm: its id, or its number where arms have no ids. */
export type ArmId = string | number;

interface Spec {
  method: string;
  path: string;
  values?: readonly (string | number)[];
  query?: object | undefined;
  body?: unknown;
  file?: FileBody<string>;
  accept?: string;
  /** Whether to send it again if the answer was lost: as in the table of the Python client. */
  repeat: "harmless" | "keyed" | "never";
  takesLong?: boolean;
  /** A status that is an answer and no error, and is not waited for to change. */
  also?: number;
}

const RETRIES = 5;
const FIRST_WAIT = 50; // milliseconds, doubled each time: about 1.5 s altogether
const LONGEST_WAIT = 5_000; // that the service may ask for
const TIMEOUT = 30_000;
const LONG_TIMEOUT = 600_000;
const NOT_ARRIVED = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"];

/** What sends requests, and reads answers. */
class Transport {
  readonly url: string;
  readonly #key: string | undefined;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;

  constructor(options: LsdtOptions) {
    if (!/^https?:\/\//.test(options.url)) {
      throw new InvalidInput(`url must be the address of a service, http://HOST:PORT; got ${options.url}`, 0);
    }
    this.url = options.url.replace(/\/+$/, "");
    this.#key = options.key;
    this.#timeout = options.timeout ?? TIMEOUT;
    this.#retries = options.retries ?? RETRIES;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  protected async json<T>(spec: Spec, options: CallOptions = {}): Promise<T> {
    return this.#send(spec, options, (answer) => answer.json() as Promise<T>);
  }

  protected async text(spec: Spec, options: CallOptions = {}): Promise<string> {
    return this.#send(spec, options, (answer) => answer.text());
  }

  protected async bytes(spec: Spec, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return this.#send(spec, options, async (answer) => new Uint8Array(await answer.arrayBuffer()));
  }

  protected async lines<T>(spec: Spec, options: CallOptions = {}): Promise<T[]> {
    const text = await this.text(spec, options);
    return text.split("\n").filter(Boolean).map((line) => JSON.parse(line) as T);
  }

  /** Yield server-sent events until the service ends the stream or the signal the call. */
  protected async *events(spec: Spec, options: CallOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    const stop = new AbortController();
    const signal = joined(options.signal, stop.signal);
    try {
      const body = await this.#send(spec, { ...options, signal }, async (answer) => answer.body, true);
      const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const read = await reader?.read();
        if (read === undefined || read.done) return;
        const parts = (rest + read.value).split("\n\n");
        rest = parts.pop() ?? "";
        for (const part of parts) {
          const event = /^event: (.*)$/m.exec(part)?.[1];
          const data = /^data: (.*)$/m.exec(part)?.[1];
          if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) } as StreamEvent;
        }
      }
    } finally {
      stop.abort();
    }
  }

  async #send<T>(
    spec: Spec,
    options: CallOptions,
    read: (answer: Response) => Promise<T>,
    isEndless = false,
  ): Promise<T> {
    const request = this.#request(spec, options);
    const retries = options.retries ?? this.#retries;
    const given = options.timeout ?? this.#timeout;
    const timeout = spec.takesLong && options.timeout === undefined ? Math.max(given, LONG_TIMEOUT) : given;
    for (let attempt = 0; ; attempt++) {
      options.signal?.throwIfAborted();
      let wait = FIRST_WAIT * 2 ** attempt;
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), timeout);
      try {
        const signal = joined(options.signal, late.signal);
        const answer = await this.#fetch(request.url, { ...request.init, signal });
        if (isEndless) clearTimeout(timer);
        if (answer.ok || answer.status === spec.also) return await read(answer);
        const isBusy = answer.status === 429 || answer.status === 503;
        if (!isBusy || attempt >= retries) throw await failure(answer);
        const asked = Number(answer.headers.get("retry-after") ?? 0) * 1000;
        wait = Math.max(wait, Math.min(asked || 0, LONGEST_WAIT));
        await answer.body?.cancel();
      } catch (error) {
        if (error instanceof LsdtError) throw error;
        options.signal?.throwIfAborted();
        const mayRepeat = spec.repeat !== "never" || NOT_ARRIVED.includes(codeOf(error));
        if (attempt >= retries || !mayRepeat) {
          const why = late.signal.aborted ? `no answer within ${timeout} ms` : reasonOf(error);
          const text = `the service at ${this.url} cannot be reached: ${why}`;
          throw new ConnectionFailed(text, 0, undefined, { cause: error });
        }
      } finally {
        clearTimeout(timer);
      }
      // A random part of it, so that many clients do not come back at the same moment.
      await pause(wait * (0.5 + Math.random() / 2), options.signal);
    }
  }

  #request(spec: Spec, options: CallOptions): { url: string; init: RequestInit } {
    let at = 0;
    const path = spec.path.replace(/{\w+}/g, () => encodeURIComponent(String(spec.values?.[at++])));
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(spec.query ?? {})) {
      if (value === undefined || value === null) continue;
      query.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
    }
    const headers: Record<string, string> = {};
    if (this.#key !== undefined) headers["authorization"] = `Bearer ${this.#key}`;
    if (spec.accept !== undefined) headers["accept"] = spec.accept;
    if (spec.repeat === "keyed") headers["idempotency-key"] = options.idempotencyKey ?? newKey();
    const init: RequestInit = { method: spec.method, headers };
    if (spec.file !== undefined) {
      headers["content-type"] = spec.file.type;
      init.body = spec.file.data;
    } else if (spec.body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(spec.body);
    }
    const text = query.toString();
    return { url: `${this.url}${path}${text && `?${text}`}`, init };
  }
}

async function failure(answer: Response): Promise<LsdtError> {
  let problem: Problem | undefined;
  try {
    const said: unknown = await answer.json();
    if (typeof said === "object" && said !== null && "title" in said && "detail" in said) problem = said as Problem;
  } catch {
    // not an answer of the service: perhaps one of a proxy
  }
  const kind = (problem && ERRORS[problem.title]) ?? LsdtError;
  return new kind(problem?.detail ?? `the service answered ${answer.status}`, answer.status, problem);
}

/** Return a signal that aborts with the first of two; `AbortSignal.any` is not everywhere yet. */
function joined(first: AbortSignal | undefined, second: AbortSignal): AbortSignal {
  if (first === undefined) return second;
  const both = new AbortController();
  for (const each of [first, second]) {
    if (each.aborted) both.abort(each.reason);
    each.addEventListener("abort", () => both.abort(each.reason), { once: true, signal: both.signal });
  }
  return both.signal;
}

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", end, { once: true });
  });
}

/** Return a random key; `crypto.randomUUID` is only there on pages with TLS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (each) => each.toString(16).padStart(2, "0")).join("");
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";
}

function reasonOf(error: unknown): string {
  return codeOf(error) || (error instanceof Error ? error.message : String(error));
}

// ---------------------------------------------------------------- generated: run make_client.py to change it

/** An experiment as it is now. Its `status` is "open", "paused" or "stopped"; `halt` says more. */
export interface About {
  name: string;
  policy: string;
  reason: string;
  rewards: string;
  arms: number;
  candidates: number;
  decisions: number;
  told: number;
  pending: number;
  created: number;
  expiry: Expiry | null;
  tolerance: number | null;
  status: string;
  halt: Halted | null;
}

/** A key, shown this once. */
export interface AddedKey {
  id: string;
  key: string;
  role: string;
  experiment: string | null;
  name: string;
}

/** A webhook, with the secret that its messages are signed with, shown this once. */
export interface AddedWebhook {
  id: string;
  secret: string;
  url: string;
  experiment: string | null;
  events: string[];
}

/**
 * What is known about an arm's mean, with two 95% intervals: of its posterior, and one for all times.
 *
 * The ends of the second are null where they are infinite.
 */
export interface ArmEstimateResponse {
  arm: ArmId;
  mean: number;
  low: number;
  high: number;
  plays: number;
  anytime_low: number | null;
  anytime_high: number | null;
}

/** The arms, all or a page of them; `total` is how many there are. */
export interface ArmPage {
  arms: ListedArm[];
  total: number;
}

/**
 * How many decisions, of which arms, whether with their probability, and whether of different arms.
 *
 * Or who asks: a unit keeps its arm.
 */
export interface AskRequest {
  n?: number | null | undefined;
  allowed?: (ArmId | boolean)[] | null | undefined;
  propensity?: boolean | number | undefined;
  distinct?: boolean | undefined;
  unit?: string | null | undefined;
}

/**
 * The arm to recommend, and the next best.
 *
 * With `top`, arm and runners-up are the best `top` together, and `certainty` is that of all of them.
 */
export interface BestResponse {
  arm: ArmId;
  mean: number;
  low: number;
  high: number;
  plays: number;
  anytime_low: number | null;
  anytime_high: number | null;
  certainty: number;
  runners_up: ArmEstimateResponse[];
  text: string;
}

/**
 * An arm whose changes could not be noticed: `plays` of it wait for a decision that is still open.
 *
 * `decision` is the number of that decision, and `seconds` how long ago it was asked for.
 */
export interface BlockedArm {
  arm: ArmId;
  decision: number;
  seconds: number;
  plays: number;
}

/** Decisions whose rewards will never be known: one, several, or all before one. */
export interface CancelRequest {
  decision?: string | null | undefined;
  decisions?: string[] | null | undefined;
  before?: string | null | undefined;
}

/** How many decisions were given up. */
export interface CancelResponse {
  cancelled: number;
}

/**
 * An arm whose mean has changed, with plays and mean before and after the likeliest moment of it.
 *
 * `evidence` is a logarithm. `mean_after` is 0 where nothing was played since.
 */
export interface ChangedArm {
  arm: ArmId;
  evidence: number;
  plays_before: number;
  mean_before: number;
  plays_after: number;
  mean_after: number;
}

/** The arm that others are compared with; `mean` is null before its first reward. */
export interface ControlArm {
  arm: ArmId;
  plays: number;
  mean: number | null;
}

/** A new experiment: its policy and why, and the arms that the policy plays on. */
export interface CreateResponse {
  name: string;
  policy: string;
  reason: string;
  candidates: ArmId[];
}

/** What was asked for. */
export interface DecisionList {
  decisions: DecisionResponse[];
}

/** An arm to play; the reward is told under the id. */
export interface DecisionResponse {
  id: string;
  arm: ArmId;
  propensity?: number | null | undefined;
}

/** It is done, and kept. */
export interface DoneResponse {
  done: boolean;
}

/** Arms whose mean has changed, the clearest first, and arms that an open decision blocks. */
export interface Drift {
  arms: ChangedArm[];
  blocked: BlockedArm[];
}

/** A unit that is to be forgotten. */
export interface EraseRequest {
  unit: string;
}

/** Whether the unit was known. */
export interface EraseResponse {
  erased: boolean;
}

/** All experiments that the caller may see. */
export interface ExperimentList {
  experiments: About[];
}

/**
 * What happens to decisions whose reward is never told.
 *
 * They are closed this many seconds after they were asked for, with this reward, or without any.
 */
export interface Expiry {
  after: number;
  reward: number | null;
}

/** More arms, and more about pairs. */
export interface ExtendRequest {
  arms?: ArmId[] | undefined;
  similar?: [ArmId, ArmId][] | undefined;
  dissimilar?: [ArmId, ArmId][] | undefined;
  better?: [ArmId, ArmId][] | undefined;
  ranges?: ([ArmId, ArmId, number | null, number | null])[] | undefined;
}

/** What changed. */
export interface ExtendResponse {
  new_arms: ArmId[];
  in_play: ArmId[];
  out_of_play: ArmId[];
  text: string;
  retired: ArmId[];
}

/** The pause or the stop that is in force: since when, with which arm, who did it, why; and in words. */
export interface Halted {
  since: number;
  arm: ArmId | null;
  by: string;
  reason: string;
  text: string;
}

/** Whether the service can answer. */
export interface Health {
  status: string;
  detail: string;
}

/** All keys. */
export interface KeyList {
  keys: ListedKey[];
}

/** The arms in play that have a reward, the highest mean first, compared with a control. */
export interface Lift {
  control: ControlArm;
  arms: LiftedArm[];
}

/**
 * How much better an arm is than the control; all intervals hold together, at all times.
 *
 * `lift`, `low` and `high` are null where nothing is known of one of the two.
 */
export interface LiftedArm {
  arm: ArmId;
  plays: number;
  mean: number;
  lift: number | null;
  low: number | null;
  high: number | null;
}

/**
 * An arm: plays and mean of told rewards, its score in the policy, its status, its title.
 *
 * `estimate` is its posterior mean by relations and the rewards of all arms, with a 95% interval.
 */
export interface ListedArm {
  arm: ArmId;
  plays: number;
  mean: number | null;
  score: number | null;
  status: string;
  prior: number;
  estimate: number;
  low: number;
  high: number;
  title: string | null;
}

/** A key without its secret. */
export interface ListedKey {
  id: string;
  role: string;
  experiment: string | null;
  rate: number | null;
  created: number;
  name: string;
}

/**
 * A webhook, and how deliveries went since the service was started.
 *
 * Of `url` the path is hidden, as it often holds a secret. `created` is null for those of the command line.
 * `inactive` says why nothing is sent to it, and is mostly empty. `failed` counts attempts, `given_up`
 * messages; `last_status` is null where there was no answer.
 */
export interface ListedWebhook {
  id: string;
  url: string;
  experiment: string | null;
  events: string[];
  created: number | null;
  inactive: string;
  queued: number;
  delivered: number;
  failed: number;
  given_up: number;
  last_attempt: number | null;
  last_status: number | null;
  last_error: string;
  last_delivered: number | null;
}

/** Other experiments of this service, whose rewards are to count too. */
export interface MergeRequest {
  experiments: string[];
}

/** How many rewards were learned from others. */
export interface MergeResponse {
  learned: number;
}

/**
 * An experiment to begin: arms and what is known about pairs, or a table of pairs, or a log of ratings.
 *
 * `file` and `log` are the text of CSV files; larger ones are sent as they are, see the documentation.
 */
export interface NewExperiment {
  name: string;
  arms?: ArmId[] | null | undefined;
  n_arms?: number | null | undefined;
  similar?: [ArmId, ArmId][] | undefined;
  dissimilar?: [ArmId, ArmId][] | undefined;
  better?: [ArmId, ArmId][] | undefined;
  ranges?: ([ArmId, ArmId, number | null, number | null])[] | undefined;
  complete?: boolean | undefined;
  file?: string | null | undefined;
  log?: string | null | undefined;
  example?: boolean | undefined;
  epsilon?: number | null | undefined;
  policy?: string | PolicyChoice | undefined;
  rewards?: string | RewardLaw | undefined;
  horizon?: number | null | undefined;
  seed?: number | undefined;
  prior?: PriorRewards | null | undefined;
  prior_weight?: number | undefined;
  forget?: number | string | null | undefined;
  floor?: Record<string, number> | null | undefined;
  holdout?: Record<string, number> | null | undefined;
  replace_within?: number | string | null | undefined;
  sticky?: number | string | null | undefined;
  tolerance?: number | null | undefined;
  expiry?: Expiry | null | undefined;
}

/** A key to add. */
export interface NewKey {
  role: string;
  experiment?: string | null | undefined;
  rate?: number | null | undefined;
  name?: string | undefined;
}

/** A webhook to add: where to, of one experiment or of all, and which types of events (all). */
export interface NewWebhook {
  url: string;
  experiment?: string | null | undefined;
  events?: string[] | null | undefined;
}

/** A reward without an ask. */
export interface Observation {
  arm: ArmId;
  reward: number;
}

/** One such reward, or many. */
export interface ObserveRequest {
  arm?: ArmId | undefined;
  reward?: number | undefined;
  rewards?: Observation[] | undefined;
}

/** How many rewards were learned. */
export interface ObserveResponse {
  learned: number;
}

/** Why it is paused, or goes on, for the log and for those who ask. */
export interface PauseRequest {
  reason?: string | undefined;
}

/** A policy with its parameters. */
export interface PolicyChoice {
  name: string;
  on?: string | null | undefined;
  parameters?: Record<string, ArmId | number | boolean> | undefined;
}

/** Rewards that are known already: arms, and what each paid. */
export interface PriorRewards {
  arms: ArmId[];
  rewards: number[];
}

/** What went wrong, as RFC 9457 has it; title and detail are those of the error in Python. */
export interface ProblemDetails {
  type: string;
  title: string;
  status: number;
  detail: string;
  decisions?: string[] | undefined;
}

/** An arm that is never to be chosen again, or that comes back; and why, for the log. */
export interface RetireRequest {
  arm: ArmId;
  reason?: string | undefined;
}

/** The reward of a decision. */
export interface Reward {
  decision: string;
  reward: number;
}

/** What rewards are like, with parameters such as sigma. */
export interface RewardLaw {
  name: string;
  parameters?: Record<string, number> | undefined;
}

/** A snapshot was kept; its size in bytes. */
export interface SnapshotResponse {
  bytes: number;
}

/** The arm that every ask is answered from now on, and why. */
export interface StopRequest {
  arm: ArmId;
  reason?: string | undefined;
}

/**
 * How far an experiment is from stopping, at a delta of 0.05, as it was a few seconds ago.
 *
 * `known` is null where that cannot be said, or not yet; `text` says why.
 */
export interface StoppingForecast {
  known: boolean | null;
  text: string;
  arm: ArmId | null;
  evidence: number | null;
  needed: number | null;
  tries_to_go: number | null;
}

/**
 * Whether it is known which arm is the best, or which are the best `top`, or all within the tolerance.
 *
 * `arms` are the arms to name, the likely best first, and `arm` is the first of them; of all arms within the
 * tolerance there may be none to name yet, and `arm` is null. `evidence` against the
 * strongest rival is a logarithm, null where relations settle it; `needed` is how much makes `stop` true.
 * `tries_to_go` is an estimate, null where `no_estimate` says why. `pending` is how many decisions have no
 * reward yet; `text` says what they do to the answer. `risk` is the probability, at most, that the side
 * information is wrong, as far as it states one; it adds to `delta`.
 */
export interface StoppingResponse {
  stop: boolean;
  arm: ArmId | null;
  delta: number;
  risk: number;
  tolerance: number;
  text: string;
  evidence: number | null;
  needed: number;
  tries_to_go: number | null;
  no_estimate: string;
  pending: number;
  arms: ArmId[];
  top: ArmId;
}

/** Relations that the rewards contradict, the strongest first. */
export interface SuspectList {
  suspects: Record<string, unknown>[];
}

/**
 * The reward of one decision, or of many.
 *
 * `repeat` says what to do with decisions that were told before: "ignore", or "replace" the earlier reward.
 */
export interface TellRequest {
  decision?: string | undefined;
  reward?: number | undefined;
  rewards?: Reward[] | undefined;
  repeat?: string | undefined;
}

/**
 * How many rewards were learned, and how many were of decisions closed before.
 *
 * A reward that replaces another counts as learned.
 */
export interface TellResponse {
  learned: number;
  repeated: number;
}

/** The tolerance of `stopping` where none is given there; null for epsilon. */
export interface ToleranceRequest {
  tolerance: number | null;
  reason?: string | undefined;
}

/** All webhooks. */
export interface WebhookList {
  webhooks: ListedWebhook[];
}

/** Whether a test message was accepted; `status` is null where there was no answer. */
export interface WebhookTest {
  delivered: boolean;
  status: number | null;
  detail: string;
}

/**
 * Why an arm is played, or is not: the argument, the relations it rests on, and its steps.
 *
 * Of a candidate, `means` satisfy every relation and give this arm the largest: one for each arm, in the
 * order of `GET .../arms`. They are null where the rule does not find such means, and for arms that are out.
 */
export interface WhyResponse {
  arm: ArmId;
  status: string;
  candidate: boolean;
  reason: string;
  relations: unknown[][];
  steps: Record<string, unknown>[];
  means: number[] | null;
}

/** The types of events that webhooks are told of. */
export type WebhookEvent = "stopping.reached" | "attention.raised" | "attention.cleared" | "relations.contradictory" | "relations.suspect" | "experiment.paused" | "experiment.stopped" | "experiment.resumed" | "experiment.failed" | "experiment.recovered" | "test";

/** A value is outside what is accepted: an unknown arm, a self pair, a negative epsilon, ... */
export class InvalidInput extends LsdtError {}

/** The ratings decide no relation between any two items, because too few users rated both. */
export class NoRelations extends InvalidInput {}

/** A file is missing, cannot be read or written, is damaged, or has the wrong content. */
export class InvalidFile extends InvalidInput {}

/** A row of a store, or an event of its log, does not match its checksum. */
export class DamagedStore extends InvalidFile {}

/** A decision that the log does not hold: it was made after the backup or snapshot that was restored. */
export class LostDecision extends InvalidInput {
  /** The ids that the log does not hold: drop their rewards, and send the others again. */
  get decisions(): string[] {
    return this.problem?.decisions ?? [];
  }
}

/** The relations contradict one another: no mean rewards satisfy them all. */
export class InconsistentSideInformation extends LsdtError {}

/** The similar pairs of complete side information form no unit interval graph. */
export class NotUnitInterval extends InconsistentSideInformation {}

/** The experiment is paused: no decisions are made until it goes on. Rewards are still learned. */
export class Paused extends LsdtError {}

/** The answer would not fit in memory, or would take unreasonably long. */
export class TooLarge extends LsdtError {}

/** The method does not apply to this side information. */
export class Unsupported extends LsdtError {}

/** An optional package is needed and not installed. */
export class MissingDependency extends LsdtError {}

/** A store failed; nothing more is written until it is opened again. */
export class StoreFailed extends LsdtError {}

/** Another writer has the store or the experiment open. */
export class StoreLocked extends LsdtError {}

/** The service answered 400. */
export class BadRequest extends LsdtError {}

/** The service answered 401. */
export class Unauthorized extends LsdtError {}

/** The service answered 403. */
export class Forbidden extends LsdtError {}

/** The service answered 404. */
export class NotFound extends LsdtError {}

/** The service answered 405. */
export class MethodNotAllowed extends LsdtError {}

/** The service answered 409. */
export class Conflict extends LsdtError {}

/** The service answered 413. */
export class BodyTooLarge extends LsdtError {}

/** The service answered 415. */
export class UnsupportedMediaType extends LsdtError {}

/** The service answered 429. */
export class TooManyRequests extends LsdtError {}

/** The service answered 503. */
export class Unavailable extends LsdtError {}

const ERRORS: Record<string, typeof LsdtError | undefined> = {
  BadRequest, BodyTooLarge, Conflict, DamagedStore, Forbidden, InconsistentSideInformation,
  InvalidFile, InvalidInput, LostDecision, MethodNotAllowed, MissingDependency, NoRelations, NotFound,
  NotUnitInterval, Paused, StoreFailed, StoreLocked, TooLarge, TooManyRequests, Unauthorized,
  Unavailable, Unsupported, UnsupportedMediaType,
};

/** The calls of the service; docs/guides/service.md and /openapi.json say more of each. */
export class Lsdt extends Transport {
  /** All experiments. */
  listExperiments(options?: CallOptions): Promise<ExperimentList> {
    return this.json<ExperimentList>({ method: "GET", path: "/v1/experiments", repeat: "harmless" }, options);
  }

  /** Begin an experiment. */
  createExperiment(body: NewExperiment, options?: CallOptions): Promise<CreateResponse> {
    return this.json<CreateResponse>({ method: "POST", path: "/v1/experiments", body, repeat: "never", takesLong: true }, options);
  }

  /** Begin an experiment: from a file. */
  createExperimentFile(file: FileBody<"text/csv" | "application/vnd.apache.parquet">, query: { name: string; log?: boolean | undefined; policy?: string | PolicyChoice | undefined; epsilon?: number | undefined; rewards?: string | RewardLaw | undefined; horizon?: number | undefined; seed?: number | undefined; prior?: PriorRewards | undefined; prior_weight?: number | undefined; forget?: number | string | undefined; floor?: Record<string, number> | undefined; holdout?: Record<string, number> | undefined; replace_within?: number | string | undefined; sticky?: number | string | undefined; tolerance?: number | undefined; expiry?: Expiry | undefined }, options?: CallOptions): Promise<CreateResponse> {
    return this.json<CreateResponse>({ method: "POST", path: "/v1/experiments", file, query, repeat: "never", takesLong: true }, options);
  }

  /** One experiment. */
  getExperiment(name: string, options?: CallOptions): Promise<About> {
    return this.json<About>({ method: "GET", path: "/v1/experiments/{name}", values: [name], repeat: "harmless" }, options);
  }

  /** Remove it with its log. */
  deleteExperiment(name: string, options?: CallOptions): Promise<DoneResponse> {
    return this.json<DoneResponse>({ method: "DELETE", path: "/v1/experiments/{name}", values: [name], repeat: "never", takesLong: true }, options);
  }

  /** Ask which arm to play. */
  ask(name: string, body: AskRequest = {}, options?: CallOptions): Promise<DecisionList> {
    return this.json<DecisionList>({ method: "POST", path: "/v1/experiments/{name}/ask", values: [name], body, repeat: "keyed" }, options);
  }

  /** Tell what decisions paid. */
  tell(name: string, body: TellRequest, options?: CallOptions): Promise<TellResponse> {
    return this.json<TellResponse>({ method: "POST", path: "/v1/experiments/{name}/tell", values: [name], body, repeat: "harmless" }, options);
  }

  /** Tell rewards without an ask. */
  observe(name: string, body: ObserveRequest, options?: CallOptions): Promise<ObserveResponse> {
    return this.json<ObserveResponse>({ method: "POST", path: "/v1/experiments/{name}/observe", values: [name], body, repeat: "keyed" }, options);
  }

  /** Give decisions up. */
  cancel(name: string, body: CancelRequest, options?: CallOptions): Promise<CancelResponse> {
    return this.json<CancelResponse>({ method: "POST", path: "/v1/experiments/{name}/cancel", values: [name], body, repeat: "never" }, options);
  }

  /** Add arms and relations. */
  extend(name: string, body: ExtendRequest, options?: CallOptions): Promise<ExtendResponse> {
    return this.json<ExtendResponse>({ method: "POST", path: "/v1/experiments/{name}/extend", values: [name], body, repeat: "never", takesLong: true }, options);
  }

  /** Add arms and relations: from a file. */
  extendFile(name: string, file: FileBody<"text/csv" | "application/vnd.apache.parquet">, options?: CallOptions): Promise<ExtendResponse> {
    return this.json<ExtendResponse>({ method: "POST", path: "/v1/experiments/{name}/extend", values: [name], file, repeat: "never", takesLong: true }, options);
  }

  /** Never choose an arm again. */
  retire(name: string, body: RetireRequest, options?: CallOptions): Promise<DoneResponse> {
    return this.json<DoneResponse>({ method: "POST", path: "/v1/experiments/{name}/retire", values: [name], body, repeat: "harmless" }, options);
  }

  /** Bring a retired arm back. */
  reinstate(name: string, body: RetireRequest, options?: CallOptions): Promise<DoneResponse> {
    return this.json<DoneResponse>({ method: "POST", path: "/v1/experiments/{name}/reinstate", values: [name], body, repeat: "harmless" }, options);
  }

  /** Forget who a unit is. */
  eraseUnit(name: string, body: EraseRequest, options?: CallOptions): Promise<EraseResponse> {
    return this.json<EraseResponse>({ method: "POST", path: "/v1/experiments/{name}/erase-unit", values: [name], body, repeat: "harmless" }, options);
  }

  /** Learn what others were told: experiments by name, or a snapshot. */
  merge(name: string, body: MergeRequest, options?: CallOptions): Promise<MergeResponse> {
    return this.json<MergeResponse>({ method: "POST", path: "/v1/experiments/{name}/merge", values: [name], body, repeat: "never", takesLong: true }, options);
  }

  /** Learn what others were told: experiments by name, or a snapshot: from a file. */
  mergeFile(name: string, file: FileBody<"application/octet-stream">, options?: CallOptions): Promise<MergeResponse> {
    return this.json<MergeResponse>({ method: "POST", path: "/v1/experiments/{name}/merge", values: [name], file, repeat: "never", takesLong: true }, options);
  }

  /** Make no decisions until it goes on. */
  pause(name: string, body: PauseRequest = {}, options?: CallOptions): Promise<DoneResponse> {
    return this.json<DoneResponse>({ method: "POST", path: "/v1/experiments/{name}/pause", values: [name], body, repeat: "harmless" }, options);
  }

  /** Answer every ask with one arm. */
  stop(name: string, body: StopRequest, options?: CallOptions): Promise<DoneResponse> {
    return this.json<DoneResponse>({ method: "POST", path: "/v1/experiments/{name}/stop", values: [name], body, repeat: "harmless" }, options);
  }

  /** Go on after a pause or a stop. */
  resume(name: string, body: PauseRequest = {}, options?: CallOptions): Promise<DoneResponse> {
    return this.json<DoneResponse>({ method: "POST", path: "/v1/experiments/{name}/resume", values: [name], body, repeat: "harmless" }, options);
  }

  /** Set the tolerance of stopping. */
  setTolerance(name: string, body: ToleranceRequest, options?: CallOptions): Promise<DoneResponse> {
    return this.json<DoneResponse>({ method: "POST", path: "/v1/experiments/{name}/tolerance", values: [name], body, repeat: "harmless" }, options);
  }

  /** Keep a snapshot now. */
  snapshot(name: string, options?: CallOptions): Promise<SnapshotResponse> {
    return this.json<SnapshotResponse>({ method: "POST", path: "/v1/experiments/{name}/snapshot", values: [name], repeat: "harmless" }, options);
  }

  /** Keep a snapshot now, as a file. */
  snapshotFile(name: string, options?: CallOptions): Promise<Uint8Array<ArrayBuffer>> {
    return this.bytes({ method: "POST", path: "/v1/experiments/{name}/snapshot", values: [name], accept: "application/octet-stream", repeat: "harmless" }, options);
  }

  /** The arms, all or a page of them. */
  listArms(name: string, query: { search?: string | undefined; order?: "arm" | "plays" | "mean" | "score" | "-arm" | "-plays" | "-mean" | "-score" | undefined; offset?: number | undefined; limit?: number | undefined } = {}, options?: CallOptions): Promise<ArmPage> {
    return this.json<ArmPage>({ method: "GET", path: "/v1/experiments/{name}/arms", values: [name], query, repeat: "harmless" }, options);
  }

  /** The arm or arms to recommend. */
  best(name: string, query: { n_runners_up?: number | undefined; top?: number | undefined } = {}, options?: CallOptions): Promise<BestResponse> {
    return this.json<BestResponse>({ method: "GET", path: "/v1/experiments/{name}/best", values: [name], query, repeat: "harmless" }, options);
  }

  /** Why an arm is in play or out. */
  why(name: string, arm: ArmId, options?: CallOptions): Promise<WhyResponse> {
    return this.json<WhyResponse>({ method: "GET", path: "/v1/experiments/{name}/why/{arm}", values: [name, arm], repeat: "harmless" }, options);
  }

  /** Whether the best arm, or the best several, are known. */
  stopping(name: string, query: { delta?: number | undefined; tolerance?: number | undefined; top?: number | unknown | undefined } = {}, options?: CallOptions): Promise<StoppingResponse> {
    return this.json<StoppingResponse>({ method: "GET", path: "/v1/experiments/{name}/stopping", values: [name], query, repeat: "harmless" }, options);
  }

  /** How much better arms are than a control. */
  lift(name: string, query: { control?: string | undefined; risk?: number | undefined } = {}, options?: CallOptions): Promise<Lift> {
    return this.json<Lift>({ method: "GET", path: "/v1/experiments/{name}/lift", values: [name], query, repeat: "harmless" }, options);
  }

  /** Relations that the rewards contradict. */
  suspects(name: string, query: { risk?: number | undefined } = {}, options?: CallOptions): Promise<SuspectList> {
    return this.json<SuspectList>({ method: "GET", path: "/v1/experiments/{name}/suspects", values: [name], query, repeat: "harmless" }, options);
  }

  /** Arms whose mean has changed. */
  drift(name: string, query: { risk?: number | undefined } = {}, options?: CallOptions): Promise<Drift> {
    return this.json<Drift>({ method: "GET", path: "/v1/experiments/{name}/drift", values: [name], query, repeat: "harmless" }, options);
  }

  /** The log: JSON lines, or Parquet. */
  listEvents(name: string, query: { after?: number | undefined; limit?: number | undefined } = {}, options?: CallOptions): Promise<LogEvent[]> {
    return this.lines<LogEvent>({ method: "GET", path: "/v1/experiments/{name}/events", values: [name], query, repeat: "harmless" }, options);
  }

  /** The log: JSON lines, or Parquet, as a file. */
  listEventsFile(name: string, query: { after?: number | undefined; limit?: number | undefined } = {}, options?: CallOptions): Promise<Uint8Array<ArrayBuffer>> {
    return this.bytes({ method: "GET", path: "/v1/experiments/{name}/events", values: [name], query, accept: "application/vnd.apache.parquet", repeat: "harmless" }, options);
  }

  /** What changes, as server-sent events. */
  stream(name: string, options?: CallOptions): AsyncGenerator<StreamEvent, void, undefined> {
    return this.events({ method: "GET", path: "/v1/experiments/{name}/stream", values: [name], repeat: "harmless" }, options);
  }

  /** The keys, without their secrets. */
  listKeys(options?: CallOptions): Promise<KeyList> {
    return this.json<KeyList>({ method: "GET", path: "/v1/keys", repeat: "harmless" }, options);
  }

  /** Make a key. */
  addKey(body: NewKey, options?: CallOptions): Promise<AddedKey> {
    return this.json<AddedKey>({ method: "POST", path: "/v1/keys", body, repeat: "never" }, options);
  }

  /** Take a key away. */
  removeKey(number: string, options?: CallOptions): Promise<DoneResponse> {
    return this.json<DoneResponse>({ method: "DELETE", path: "/v1/keys/{number}", values: [number], repeat: "never" }, options);
  }

  /** Who is told of events, and how that goes. */
  listWebhooks(options?: CallOptions): Promise<WebhookList> {
    return this.json<WebhookList>({ method: "GET", path: "/v1/webhooks", repeat: "harmless" }, options);
  }

  /** Tell one more. */
  addWebhook(body: NewWebhook, options?: CallOptions): Promise<AddedWebhook> {
    return this.json<AddedWebhook>({ method: "POST", path: "/v1/webhooks", body, repeat: "never" }, options);
  }

  /** Tell one no more. */
  removeWebhook(number: string, options?: CallOptions): Promise<DoneResponse> {
    return this.json<DoneResponse>({ method: "DELETE", path: "/v1/webhooks/{number}", values: [number], repeat: "never" }, options);
  }

  /** Send a test message, once. */
  testWebhook(number: string, options?: CallOptions): Promise<WebhookTest> {
    return this.json<WebhookTest>({ method: "POST", path: "/v1/webhooks/{number}/test", values: [number], repeat: "never" }, options);
  }

  /** Whether the process answers. */
  healthz(options?: CallOptions): Promise<Health> {
    return this.json<Health>({ method: "GET", path: "/healthz", repeat: "harmless" }, options);
  }

  /** Whether decisions can be kept. */
  readyz(options?: CallOptions): Promise<Health> {
    return this.json<Health>({ method: "GET", path: "/readyz", repeat: "harmless", also: 503 }, options);
  }

  /** Counters for Prometheus. */
  metrics(options?: CallOptions): Promise<string> {
    return this.text({ method: "GET", path: "/metrics", repeat: "harmless" }, options);
  }
}
