"use strict";
// All text of the runs is put in as text (textContent, value), never as markup.
const forms = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
let current = 0;
let unsaved = false;

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function changed() {
  unsaved = true;
  const total = forms.length * forms[0].modes.length;
  const done = forms.reduce(
    (n, form) => n + Object.values(form.labels).filter((value) => value !== null).length, 0);
  at("state").textContent = `${done} of ${total} answered`;
}

function row(item) {
  return make("div", { className: "row", id: `row-${item.index}` },
    make("b", { textContent: item.head }), make("pre", { textContent: item.text }));
}

function choice(form, mode, word, value) {
  const input = make("input", { type: "radio", name: mode.slug, checked: form.labels[mode.slug] === value });
  input.addEventListener("change", () => { form.labels[mode.slug] = value; changed(); });
  return make("label", {}, input, ` ${word}`);
}

function proof(form, mode) {
  const told = form.evidence[mode.slug] || {};
  const index = make("input", { type: "number", min: 0, placeholder: "row", value: told.message_index ?? "" });
  const quote = make("input", { placeholder: "its words", value: told.quote || "" });
  const note = make("input", { placeholder: "why", value: form.notes[mode.slug] || "" });
  const keep = () => {
    if (index.value !== "") {
      form.evidence[mode.slug] = { message_index: Number(index.value), quote: quote.value };
    } else {
      delete form.evidence[mode.slug];
    }
    form.notes[mode.slug] = note.value;
    changed();
  };
  for (const input of [index, quote, note]) input.addEventListener("input", keep);
  index.addEventListener("change", () => show(Number(index.value)));
  for (const [input, name] of [[index, "row"], [quote, "quote"], [note, "why"]]) {
    input.setAttribute("aria-label", `${mode.name}: ${name}`);
  }
  return make("div", { className: "proof" }, index, quote, note);
}

function show(index) {
  document.querySelectorAll(".row.at").forEach((element) => element.classList.remove("at"));
  const found = at(`row-${index}`);
  if (found) { found.classList.add("at"); found.scrollIntoView({ block: "center" }); }
}

function said(form, mode) {
  const verdict = form.judge && form.judge[mode.slug];
  if (!verdict) return [];
  const rows = verdict.evidence.map((item) => {
    const button = make("button", { type: "button", textContent: `#${item.message_index}`, title: item.quote });
    button.addEventListener("click", () => show(item.message_index));
    return button;
  });
  return [make("p", { className: "judge" }, `The judge: ${verdict.verdict}. ${verdict.why} `, ...rows)];
}

function field(form, mode) {
  return make("fieldset", {},
    make("legend", { textContent: `${mode.code} ${mode.name}` }),
    make("p", { textContent: mode.definition }),
    make("p", { textContent: mode.not_this ? `Not this: ${mode.not_this}` : "" }),
    ...said(form, mode),
    choice(form, mode, "present", 1), choice(form, mode, "absent", 0), choice(form, mode, "no answer", null),
    proof(form, mode));
}

function display(number) {
  current = number;
  const form = forms[current];
  const task = make("div", { className: "row" }, make("b", { textContent: "Task" }),
    make("pre", { textContent: form.task || "(not recorded)" }));
  at("rows").replaceChildren(task, ...form.rows.map(row));
  at("modes").replaceChildren(...form.modes.map((mode) => field(form, mode)));
  at("rows").scrollTop = at("modes").scrollTop = 0;
}

function save() {
  const labeller = at("labeller").value.trim();
  if (!labeller) { at("state").textContent = "Your name is missing"; at("labeller").focus(); return; }
  const lines = forms
    .filter((form) => Object.values(form.labels).some((value) => value !== null))
    .map((form) => JSON.stringify({
      run: form.run, source_scheme: form.source_scheme, labeller,
      labels: form.labels, evidence: form.evidence, notes: form.notes,
    }));
  const url = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "application/jsonl" }));
  const link = make("a", { href: url, download: `labels-${labeller.replace(/[^\p{L}\p{N}_-]+/gu, "_")}.jsonl` });
  link.click();
  URL.revokeObjectURL(url);
  unsaved = false;
  at("state").textContent = `${lines.length} runs saved`;
}

forms.forEach((form, number) => at("run").append(new Option(`${number + 1}. ${form.run}`, number)));
at("run").addEventListener("change", (event) => display(Number(event.target.value)));
at("save").addEventListener("click", save);
at("labeller").addEventListener("input", () => { unsaved = true; });
window.addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
if (forms.length) display(0);
