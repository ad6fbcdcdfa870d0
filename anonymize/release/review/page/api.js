// What the page asks the release for. The token never leaves this page's origin; it is in no address.

const KEY = "review-token";

function token() {
  const given = location.hash.slice(1);
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", "/");
  }
  return sessionStorage.getItem(KEY) ?? "";
}

const headers = { "x-review-token": token() };

async function ask(path, method = "GET") {
  let answer;
  try {
    answer = await fetch(path, { method, headers });
  } catch {
    throw new Error("the command has ended; start `anonymize review` again and open its address");
  }
  if (answer.ok) return answer;
  if (answer.status === 403) throw new Error("open the address that `anonymize review` printed");
  const told = await answer.json().catch(() => ({}));
  throw new Error(told.problem ?? `status ${answer.status}`);
}

export const begin = () => ask("/session", "POST");
export const release = async () => (await ask("/api/release")).json();
export const end = () => ask("/api/end", "POST");
export const decide = async (number, verdict) =>
  (await ask(`/api/pictures/${number}/${verdict}`, "POST")).json();

async function pixels(path) {
  const answer = await ask(path);
  const view = JSON.parse(answer.headers.get("x-view"));
  const data = await answer.arrayBuffer();
  return { ...view, values: view.bits === 8 ? new Uint8Array(data) : new Uint16Array(data) };
}

async function load(number, which) {
  const path = `/api/pictures/${number}`;
  const input = pixels(`${path}/inputs/${which}`).catch((error) => ({ problem: error.message }));
  const [details, output] = await Promise.all([
    ask(path).then((answer) => answer.json()),
    pixels(`${path}/output`),
  ]);
  return { details, output, input: await input };
}

// The pictures around the one that is shown are there before they are asked for.
const MOST = 6;
const kept = new Map();

export function picture(number, which = 0) {
  const key = `${number} ${which}`;
  const found = kept.get(key) ?? load(number, which);
  kept.delete(key);
  kept.set(key, found);
  found.catch(() => kept.delete(key));
  for (const old of [...kept.keys()].slice(0, Math.max(0, kept.size - MOST))) kept.delete(old);
  return found;
}
