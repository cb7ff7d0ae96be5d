// The page: snapshots of the manager come in as server-sent events, and tables are brought up to date in place.
//
// Whatever comes from the cluster is put into text nodes, never into markup. Rows stay the same elements as long as
// what they are about is there, so that the focus and a screen reader keep their place.

const ROWS = 200; // that a table shows
const POINTS = 60; // of a line
const GONE = 15000; // milliseconds without a snapshot after which the connection counts as lost

const $ = (id) => document.getElementById(id);

function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

// --- numbers as text

function count(value) {
  return value == null ? "–" : value.toLocaleString("en");
}

function rate(value) {
  if (value == null) return "–";
  return value === 0 ? "0" : value < 0.95 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : count(Math.round(value));
}

function span(seconds) {
  if (seconds == null) return "–";
  if (seconds === 0) return "0";
  if (seconds < 0.001) return `${Math.max(Math.round(seconds * 1e6), 1)} µs`;
  if (seconds < 1) return `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

function ago(seconds) {
  if (seconds == null) return "never";
  return seconds < 1 ? "now" : seconds < 120 ? `${Math.floor(seconds)} s ago` : `${span(seconds)} ago`;
}

function size(bytes) {
  if (bytes == null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit += 1; }
  return `${bytes < 10 && unit ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

// --- tables

// A column: its title, how to show a row, and how to sort by it. `show` gives text, or an element that `keep` mends.
class Table {
  constructor(place, caption, columns, { key, empty, sort = null }) {
    this.place = $(place);
    this.columns = columns;
    this.key = key;
    this.empty = make("p", { className: "quiet", textContent: empty });
    this.caption = make("caption");
    this.title = caption;
    this.body = make("tbody");
    this.rows = new Map();
    this.sort = sort; // [number of the column, 1 or -1]
    this.last = [];
    this.heads = columns.map((column, number) => this.head(column, number));
    this.table = make("table", {}, this.caption, make("thead", {}, make("tr", {}, ...this.heads)), this.body);
    this.place.append(this.empty, this.table);
    this.table.hidden = true;
  }

  head(column, number) {
    const head = make("th", { scope: "col", className: column.number ? "number" : "" });
    if (!column.by) {
      head.textContent = column.title;
      return head;
    }
    const button = make("button", { type: "button", textContent: column.title });
    button.addEventListener("click", () => {
      const [sorted, way] = this.sort ?? [-1, 0];
      this.sort = [number, sorted === number ? -way : column.number ? -1 : 1];
      this.show(this.last);
    });
    head.append(button);
    return head;
  }

  sorted(items) {
    if (this.sort === null) return items;
    const [number, way] = this.sort;
    const by = this.columns[number].by;
    return [...items].sort((one, other) => {
      const a = by(one) ?? -Infinity, b = by(other) ?? -Infinity;
      return way * (a < b ? -1 : a > b ? 1 : 0);
    });
  }

  show(items, total = items.length) {
    this.last = items;
    this.empty.hidden = items.length > 0;
    this.table.hidden = items.length === 0;
    const shown = this.sorted(items).slice(0, ROWS);
    put(this.caption, shown.length < total ? `${this.title} (${shown.length} of ${count(total)})` : this.title);
    this.heads.forEach((head, number) => {
      if (this.sort?.[0] === number) head.setAttribute("aria-sort", this.sort[1] > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    const keep = new Map();
    let before = null;
    for (const item of shown) {
      const key = this.key(item);
      if (keep.has(key)) continue;
      const row = this.rows.get(key) ?? this.row();
      keep.set(key, row);
      row.cells.forEach((cell, number) => fill(cell, this.columns[number], item));
      const place = before === null ? this.body.firstChild : before.nextSibling;
      if (place !== row.element) this.body.insertBefore(row.element, place);
      before = row.element;
    }
    for (const [key, row] of this.rows) if (keep.get(key) !== row) row.element.remove();
    this.rows = keep;
  }

  row() {
    const cells = this.columns.map((column, number) => {
      const cell = make(number ? "td" : "th", { className: column.number ? "number" : column.style ?? "" });
      if (!number) cell.scope = "row";
      return cell;
    });
    return { cells, element: make("tr", {}, ...cells) };
  }
}

function fill(cell, column, item) {
  if (column.keep) column.keep(cell, item);
  else put(cell, column.show(item));
}

// A text node is touched only where the text is another one.
function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const text = (title, show, style = "") => ({ title, show, by: show, style });
const number = (title, by, show = count) => ({ title, by, show: (item) => show(by(item)), number: true });

// A state has a sign before its word, for who sees no colours.
function state(title, show, isGood) {
  return {
    title,
    by: show,
    keep(cell, item) {
      const good = isGood(item);
      cell.className = good ? "state good" : "state bad";
      put(cell, `${good ? "●" : "▲"} ${show(item)}`);
    },
  };
}

// A key is a button that asks why.
function asking(title, key) {
  return {
    title,
    by: key,
    keep(cell, item) {
      let button = cell.firstChild;
      if (!button) {
        button = make("button", { type: "button", className: "key", title: "Ask why it was synced" });
        button.addEventListener("click", () => ask(button.textContent, true));
        cell.append(button);
      }
      put(button, key(item));
    },
  };
}

// A line of the last values; screen readers have the number beside it.
const lines = new Map();

function line(title, name, value) {
  return {
    title,
    keep(cell, item) {
      let polyline = cell.querySelector("polyline");
      if (!polyline) {
        const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        svg.setAttribute("class", "line");
        svg.setAttribute("viewBox", `0 0 ${POINTS - 1} 10`);
        svg.setAttribute("preserveAspectRatio", "none");
        svg.setAttribute("aria-hidden", "true");
        polyline = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
        svg.append(polyline);
        cell.append(svg);
      }
      const points = lines.get(`${name}/${item.name}`) ?? [];
      const most = Math.max(...points, 1);
      const first = POINTS - points.length;
      polyline.setAttribute("points", points.map((point, at) => `${first + at},${10 - (9 * point) / most}`).join(" "));
    },
    note(items) {
      const names = new Set(items.map((item) => `${name}/${item.name}`));
      for (const known of lines.keys()) if (known.startsWith(`${name}/`) && !names.has(known)) lines.delete(known);
      for (const item of items) {
        const points = lines.get(`${name}/${item.name}`) ?? [];
        points.push(value(item) ?? 0);
        lines.set(`${name}/${item.name}`, points.slice(-POINTS));
      }
    },
  };
}

const syncLine = line("last minute", "syncs", (it) => it.syncsPerSecond);
const depthLine = line("last minute", "depth", (it) => it.depth);

const controllers = new Table("controllers-table", "What runs, and how fast", [
  text("name", (it) => it.name),
  state("state", (it) => it.state, (it) => it.state === "running"),
  number("syncs/s", (it) => it.syncsPerSecond, rate),
  syncLine,
  number("syncs", (it) => it.syncs),
  number("errors/s", (it) => it.errorsPerSecond, rate),
  number("errors", (it) => it.errors),
  number("keys failing", (it) => it.failing),
  number("median", (it) => it.secondsMedian, span),
  number("99 %", (it) => it.seconds99, span),
  { title: "busy", number: true, by: (it) => it.running, show: (it) => `${it.running} of ${it.workers}` },
  number("longest now", (it) => it.longestSeconds, span),
], { key: (it) => it.name, empty: "No controllers run here.", sort: [0, 1] });

const failing = new Table("failing-table", "The last ten of each controller", [
  asking("key", (it) => it.key),
  text("controller", (it) => it.controller),
  text("error", (it) => it.error, "text"),
  number("failed", (it) => it.endedSeconds, ago),
  number("tried again in", (it) => it.dueSeconds, span),
], { key: (it) => `${it.controller} ${it.key}`, empty: "None." });

const slowest = new Table("slowest-table", "The slowest ten of all that are remembered", [
  asking("key", (it) => it.key),
  text("controller", (it) => it.controller),
  number("took", (it) => it.seconds, span),
  number("ended", (it) => it.endedSeconds, ago),
  { title: "how", show: (it) => (it.error ? `failed: ${it.error}` : "went well"), by: (it) => it.error, style: "text" },
], { key: (it) => `${it.controller} ${it.key}`, empty: "Nothing was synced yet." });

const tasks = new Table("tasks-table", "What controllers do beside their syncs", [
  text("name", (it) => it.name),
  text("kind", (it) => it.kind),
  state("state", (it) => (it.failing ? "failing" : it.running ? "running" : "idle"), (it) => !it.failing),
  number("running", (it) => it.running),
  number("failing", (it) => it.failing),
  number("idle", (it) => it.idle),
  number("errors", (it) => it.errors),
  number("next call in", (it) => it.dueSeconds, span),
  text("last error", (it) => (it.key ? `${it.key}: ${it.error}` : it.error), "text"),
], { key: (it) => `${it.kind} ${it.name}`, empty: "No controller here has any.", sort: [0, 1] });

const queues = new Table("queues-table", "Keys that wait for a worker, or for a time", [
  text("name", (it) => it.name),
  number("depth", (it) => it.depth),
  depthLine,
  number("oldest", (it) => it.oldestSeconds, span),
  number("latency, median", (it) => it.latencyMedian, span),
  number("99 %", (it) => it.latency99, span),
  number("added/s", (it) => it.addsPerSecond, rate),
  number("waiting for a time", (it) => it.delayed),
  number("retries/s", (it) => it.retriesPerSecond, rate),
  number("retries", (it) => it.retries),
], { key: (it) => it.name, empty: "No queues.", sort: [0, 1] });

const informers = new Table("informers-table", "Local copies of the cluster's objects; memory is an estimate", [
  text("resource", (it) => it.name.split(".")[0]), // the version names the group, too
  text("version", (it) => it.apiVersion),
  state("state", (it) => it.state, (it) => it.state === "following"),
  number("objects", (it) => it.objects),
  number("memory", (it) => it.bytes, size),
  number("events/s", (it) => it.eventsPerSecond, rate),
  number("last heard", (it) => it.heardSeconds, ago),
  number("relists", (it) => it.relists),
  number("on the way", (it) => it.waiting),
  { title: "at version", by: (it) => it.version, show: (it) => it.version || "–", number: true },
], { key: (it) => `${it.apiVersion} ${it.name}`, empty: "No informers.", sort: [0, 1] });

const members = new Table("members-table", "Members, and the ranges of keys that they own", [
  text("member", (it) => (it.isSelf ? `${it.name} (this one)` : it.name)),
  state("state", (it) => (it.alive ? "alive" : "not heard of"), (it) => it.alive),
  number("ranges", (it) => it.ranges),
  number("objects", (it) => it.objects),
  number("syncs a minute", (it) => it.syncs),
], { key: (it) => it.name, empty: "Keys are not divided: one process has them all." });

const clusters = new Table("clusters-table", "Clusters that the controllers of this process work for", [
  text("cluster", (it) => it.name),
  state("state", (it) => it.state, (it) => it.state === "ready" || it.state === "standing by"),
  text("why", (it) => it.trouble, "text"),
  text("server", (it) => it.server),
  number("failures", (it) => it.failures),
  number("tried again in", (it) => it.dueSeconds, span),
], { key: (it) => it.name, empty: "This process works for one cluster." });

const webhooks = new Table("webhooks-table", "API servers call these before they store an object, or to convert it to another version", [
  text("webhook", (it) => it.path),
  text("kind", (it) => it.kind),
  text("resource", (it) => it.resource),
  state("state", (it) => it.state, (it) => !it.state.startsWith("not ")),
  number("requests/s", (it) => it.requestsPerSecond, rate),
  number("requests", (it) => it.requests),
  number("refused", (it) => it.refused),
  number("failed", (it) => it.failed),
  number("median", (it) => it.secondsMedian, span),
  number("99 %", (it) => it.seconds99, span),
], { key: (it) => it.path, empty: "No controller here declares any." });

const quotas = new Table("quotas-table", "The limits that are used most", [
  text("quota", (it) => it.name),
  text("kind", (it) => it.kind),
  text("resource", (it) => it.resource),
  { title: "used", number: true, by: (it) => it.share, show: (it) => it.used },
  { title: "limit", number: true, show: (it) => it.hard },
  {
    title: "share",
    by: (it) => it.share,
    keep(cell, item) {
      if (!cell.firstChild) {
        const bar = make("span", { className: "bar" }, make("span"));
        bar.setAttribute("aria-hidden", "true");
        cell.append(make("span", { className: "share" }), bar);
      }
      const [label, bar] = cell.children;
      put(label, `${Math.round(item.share * 100)} %${item.share >= 1 ? ", full" : ""}`);
      bar.className = item.share >= 1 ? "bar full" : "bar";
      bar.firstChild.style.width = `${Math.min(item.share, 1) * 100}%`;
    },
  },
], { key: (it) => `${it.kind} ${it.name} ${it.resource}`, empty: "No informer here has quotas." });

// --- a snapshot

const sum = (items, by) => items.reduce((total, item) => total + (by(item) ?? 0), 0);

function show(snapshot) {
  const { process } = snapshot;
  put($("process"), `${process.identity}, process ${process.pid}, version ${process.version}${process.server ? `, for ${process.server}` : ""}`);
  glance(snapshot);
  problems(snapshot);
  const flat = (field) => snapshot.controllers.flatMap((it) => it[field].map((key) => ({ ...key, controller: it.name })));
  syncLine.note(snapshot.controllers);
  depthLine.note(snapshot.queues);
  controllers.show(snapshot.controllers);
  failing.show(flat("failed"), sum(snapshot.controllers, (it) => it.failing));
  slowest.show(flat("slowest").sort((one, other) => other.seconds - one.seconds).slice(0, 10));
  tasks.show(snapshot.tasks);
  queues.show(snapshot.queues);
  informers.show(snapshot.informers);
  members.show(snapshot.shards?.members ?? []);
  clusters.show(snapshot.clusters);
  webhooks.show(snapshot.webhooks);
  quotas.show(snapshot.quotas, snapshot.quotasTotal);
  put($("leader"), replicas(snapshot));
}

function replicas({ leader, shards, clusters: all }) {
  const told = [];
  if (all.length) {
    const led = all.filter((it) => it.state === "ready").length;
    told.push(`This process is ready to write to ${led} of ${all.length} clusters.`);
  } else if (leader) {
    told.push(leader.leads ? `This process leads: it holds ${leader.lease} as ${leader.identity}.`
      : `This process stands by: ${leader.holder || "nobody"} holds ${leader.lease}.`);
  } else if (!shards) told.push("Without an election: this process works alone.");
  if (shards) {
    const free = shards.ranges.filter((owner) => !owner).length;
    told.push(`${shards.ranges.length} ranges, ${free ? `${free} of them without an owner` : "each with an owner"}.`);
    if (shards.members.length > 1) {
      told.push(`The largest member has ${shards.objectSkew.toFixed(2)} times its even share of the objects, and ${shards.syncSkew.toFixed(2)} times that of the syncs.`);
    }
  }
  return told.join(" ");
}

function glance({ informers: all, queues: lined, controllers: running, process, leader }) {
  const following = all.filter((it) => it.state === "following").length;
  const figures = [
    ["informers following", `${following} of ${all.length}`],
    ["objects", count(sum(all, (it) => it.objects))],
    ["events/s", rate(sum(all, (it) => it.eventsPerSecond))],
    ["keys in queues", count(sum(lined, (it) => it.depth))],
    ["syncs/s", rate(sum(running, (it) => it.syncsPerSecond))],
    ["errors/s", rate(sum(running, (it) => it.errorsPerSecond))],
    ["keys failing", count(sum(running, (it) => it.failing))],
    ["memory", size(process.memoryBytes)],
    ["running for", span(process.uptimeSeconds)],
    ["leader", leader ? (leader.leads ? "this one" : "another") : "not needed"],
  ];
  const list = $("glance");
  figures.forEach(([name, value], at) => {
    if (!list.children[at]) list.append(make("div", {}, make("dt"), make("dd")));
    put(list.children[at].firstChild, name);
    put(list.children[at].lastChild, value);
  });
}

function problems({ informers: all, queues: lined, controllers: running, tasks: beside, webhooks: hooks, clusters: every }) {
  const found = [];
  for (const it of every) {
    if (it.state === "failed" || it.state === "starting") found.push(`Cluster ${it.name}${it.state === "failed" ? " has failed" : " is not ready"}: ${it.trouble}.`);
  }
  for (const it of all) {
    if (it.state === "not following") found.push(`Informer ${it.name} has had no watch for ${span(it.failingSeconds)}.`);
    else if (it.state === "stopped") found.push(`Informer ${it.name} has stopped.`);
  }
  for (const it of running) {
    if (it.failing) found.push(`Controller ${it.name}: the last sync of ${count(it.failing)} ${it.failing === 1 ? "key" : "keys"} failed.`);
    if (it.longestSeconds > 60) found.push(`Controller ${it.name}: a sync has been going on for ${span(it.longestSeconds)}.`);
  }
  for (const it of beside) {
    if (it.failing && it.kind === "daemons") found.push(`Controller ${it.name}: the daemons of ${count(it.failing)} ${it.failing === 1 ? "object" : "objects"} fail.`);
    else if (it.failing) found.push(`Periodic work ${it.name}: its last turn failed.`);
  }
  for (const it of lined) {
    if (it.depth && it.oldestSeconds > 60) found.push(`Queue ${it.name}: a key has waited for ${span(it.oldestSeconds)}.`);
  }
  for (const it of hooks) if (it.state.startsWith("not ")) found.push(`Webhook ${it.path} is ${it.state}.`);
  const list = $("problems");
  const shown = found.length ? found.slice(0, 20) : ["Nothing."];
  if (found.length > 20) shown.push(`${found.length - 20} more.`);
  shown.forEach((problem, at) => {
    if (!list.children[at]) list.append(make("li"));
    list.children[at].className = found.length ? "" : "none quiet";
    put(list.children[at], problem);
  });
  while (list.children.length > shown.length) list.lastChild.remove();
}

// --- why

const EVENTS = {
  listed: "was there at the start",
  added: "was added",
  updated: "was updated",
  deleted: "was deleted",
  resynced: "was told of again, unchanged",
  retry: "A retry after a failure",
  due: "The time that was set had come",
  asked: "Asked for by the controller itself",
};

function triggerText(trigger) {
  const what = EVENTS[trigger.event] ?? trigger.event;
  if (!trigger.informer) return what;
  if (trigger.event === "retry") return `${what}; first for ${trigger.informer} ${trigger.object}`;
  return `${trigger.informer} ${trigger.object} ${what}${trigger.version ? ` (version ${trigger.version})` : ""}`;
}

function stateText(why) {
  const told = [];
  if (why.state === "running") told.push(`It is being synced, for ${span(why.runningSeconds)} so far.`);
  if (why.isQueued) told.push(why.state === "running" ? "It will be synced once more after that." : "It is in the queue.");
  if (why.dueSeconds != null) told.push(`It is ${why.runs[0]?.error ? "tried" : "synced"} again in ${span(why.dueSeconds)}.`);
  if (why.failures) told.push(`It has come back ${why.failures} ${why.failures === 1 ? "time" : "times"} in a row.`);
  if (why.trigger) told.push(`For: ${triggerText(why.trigger)}.`);
  if (why.daemon) told.push(daemonText(why.daemon));
  return told.join(" ") || "Nothing is to be done about it now.";
}

function daemonText({ state: now, seconds, error, dueSeconds }) {
  if (now === "failed") return `Its daemon failed ${ago(seconds)}: ${error}. It is called again in ${span(dueSeconds)}.`;
  if (now === "done") return `Its daemon returned ${ago(seconds)}, and is called again when the spec changes.`;
  return `Its daemon has been running for ${span(seconds)}${error ? `, after it had failed: ${error}` : ""}.`;
}

function runsTable(why) {
  const columns = ["when", "what for", "waited", "took", "how it ended"];
  const head = make("tr", {}, ...columns.map((title, at) => make("th", { scope: "col", textContent: title, className: at === 2 || at === 3 ? "number" : "" })));
  const rows = why.runs.map((run) => make("tr", {},
    make("th", { scope: "row", textContent: ago(run.agoSeconds), title: run.began }),
    make("td", { className: "text", textContent: triggerText(run.trigger) }),
    make("td", { className: "number", textContent: span(run.waitedSeconds) }),
    make("td", { className: "number", textContent: span(run.seconds) }),
    make("td", { className: run.error ? "text bad" : "good", textContent: run.error ? `▲ failed: ${run.error}` : "● went well" })));
  return make("div", { className: "table" }, make("table", {}, make("caption", { textContent: `Last syncs by ${why.controller}` }), make("thead", {}, head), make("tbody", {}, ...rows)));
}

async function ask(key, moves = false) {
  $("key").value = key;
  window.history.replaceState(null, "", key ? `#why=${encodeURIComponent(key).replaceAll("%2F", "/")}` : window.location.pathname);
  let found;
  try {
    found = await get(`why?key=${encodeURIComponent(key)}`);
  } catch (error) {
    put($("answer-summary"), error.message);
    $("answer").replaceChildren();
    return;
  }
  const inCaches = found.objects.map((it) => `${it.informer} (version ${it.version})`).join(", ");
  let summary = `${found.key}: ${found.controllers.length} ${found.controllers.length === 1 ? "controller knows" : "controllers know"} of it.`;
  if (inCaches) summary += ` In the cache of ${inCaches}.`;
  const parts = found.controllers.map((why) => make("article", {},
    make("h3", { textContent: `${why.controller}: ${why.state}` }), make("p", { textContent: stateText(why) }),
    ...(why.runs.length ? [runsTable(why)] : [])));
  if (!found.controllers.length && !found.objects.length) {
    summary = `Nothing is known of ${found.key}.${found.nearest.length ? " Keys like it:" : ""}`;
    parts.push(make("ul", {}, ...found.nearest.map((near) => {
      const button = make("button", { type: "button", className: "key", textContent: near });
      button.addEventListener("click", () => ask(near, true));
      return make("li", {}, button);
    })));
  }
  if (found.replay) {
    const command = make("code", { textContent: found.replay });
    parts.push(make("p", {}, "It is recorded. To replay a copy of its files: ", command));
  }
  put($("answer-summary"), summary);
  $("answer").replaceChildren(...parts);
  if (moves) $("key").focus();
}

let searching = 0;

async function suggest() {
  const turn = ++searching;
  await new Promise((done) => setTimeout(done, 150));
  const part = $("key").value;
  if (turn !== searching || part.length < 2) return;
  try {
    const found = await get(`search?q=${encodeURIComponent(part)}`);
    if (turn === searching) $("keys").replaceChildren(...found.map((value) => make("option", { value })));
  } catch {
    // What can be suggested is not needed.
  }
}

// A link that somebody has shared: #why=namespace/name.
function askWhatTheLinkAsks() {
  const found = /^#why=(.+)$/.exec(window.location.hash);
  if (!found) return;
  try {
    ask(decodeURIComponent(found[1]));
  } catch {
    // The link is not valid percent-encoding.
  }
}

window.addEventListener("hashchange", askWhatTheLinkAsks);
$("ask").addEventListener("submit", (event) => { event.preventDefault(); ask($("key").value.trim()); });
$("key").addEventListener("input", suggest);

// --- the connection

class Unauthorized extends Error {}

function headers() {
  const token = sessionStorage.getItem("token");
  return token ? { Authorization: `Bearer ${token}` } : {};
}

async function open(path, signal) {
  const answer = await fetch(`../debug/${path}`, { headers: headers(), cache: "no-store", signal });
  if (answer.status === 401 || answer.status === 403) throw new Unauthorized();
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({}));
    throw new Error(told.error ?? `The manager answers ${answer.status}.`);
  }
  return answer;
}

async function get(path) {
  return (await open(path)).json();
}

let paused = false;
let received = 0;

// Read by hand rather than by EventSource, which cannot send a token.
async function follow(signal) {
  const answer = await open("events", signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const events = rest.split("\n\n");
    rest = events.pop();
    received = Date.now();
    const last = events.at(-1);
    if (last === undefined) continue;
    tell("● live");
    if (!paused) show(JSON.parse(last.split("\n").find((part) => part.startsWith("data: ")).slice(6)));
  }
}

// Announced only when it changes.
function tell(connection) {
  put($("connection"), paused ? "paused" : connection);
}

async function connect() {
  for (let wait = 500; ; wait = Math.min(wait * 2, 10000)) {
    const controller = new AbortController();
    received = Date.now();
    const watch = setInterval(() => { if (Date.now() - received > GONE) controller.abort(); }, 1000);
    const before = received;
    try {
      await follow(controller.signal);
      tell("▲ the manager has ended the stream");
    } catch (error) {
      if (error instanceof Unauthorized) {
        clearInterval(watch);
        return signIn();
      }
      tell("▲ no answer from the manager: trying again");
    } finally {
      clearInterval(watch);
    }
    if (received > before) wait = 500;
    await new Promise((done) => setTimeout(done, wait));
  }
}

function signIn() {
  tell("▲ not signed in");
  sessionStorage.removeItem("token");
  $("sign-in").hidden = false;
  $("token").focus();
}

$("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", $("token").value.trim());
  $("token").value = "";
  $("sign-in").hidden = true;
  tell("connecting …");
  connect();
  askWhatTheLinkAsks();
});

$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  tell("● live");
});

connect();
askWhatTheLinkAsks();
