"use strict";
// Changes answers at random, in this browser, before anything is sent. Randomised response over k answers: with the probability
// of a lie another answer is sent, each of the others alike. A number that is drawn here is never made from the answer.
(() => {
  const page = document.getElementById("survey");
  const { answers, form, lie, run } = page.dataset;
  const k = Number(answers);
  const STEPS = 2 ** 32;
  const CROWD = 1000;

  /** A whole number below 2^53. */
  function uniform() {
    const [high, low] = crypto.getRandomValues(new Uint32Array(2));
    return (high >>> 11) * STEPS + low;
  }

  /** A whole number below n, each alike. */
  function below(n) {
    const most = STEPS - (STEPS % n);
    for (;;) {
      const [drawn] = crypto.getRandomValues(new Uint32Array(1));
      if (drawn < most) return drawn % n;
    }
  }

  /** What is sent in place of an answer. */
  function randomise(answer) {
    const other = 1 + below(k - 1);
    const offset = uniform() < Number(lie) ? other : 0;
    return (answer + offset) % k;
  }

  // The truth stays here. One demo after another may have this address.
  const key = `noisegate-survey-${run}`;
  const truth = JSON.parse(localStorage.getItem(key) ?? JSON.stringify(Array(k).fill(0)));

  const said = document.getElementById("said");
  const rows = [...document.querySelectorAll("#results tbody tr")];
  const names = rows.map((row) => row.cells[0].textContent);

  function draw(told) {
    const all = truth.reduce((a, b) => a + b, 0);
    const most = Math.max(1, ...truth, ...told.estimates.map((e) => e.count));
    rows.forEach((row, n) => {
      const { count, low, high } = told.estimates[n];
      const [, here, estimated, ends] = row.cells;
      here.querySelector("span").textContent = truth[n].toLocaleString("en");
      estimated.querySelector("span").textContent = Math.round(count).toLocaleString("en");
      ends.textContent = `${Math.round(low).toLocaleString("en")} to ${Math.round(high).toLocaleString("en")}`;
      here.querySelector(".fill").setAttribute("width", (100 * truth[n]) / most);
      estimated.querySelector(".fill").setAttribute("width", (100 * Math.max(0, count)) / most);
    });
    document.getElementById("reports").textContent = `${told.reports.toLocaleString("en")} reports are stored, ${all.toLocaleString("en")} of them from this browser.`;
  }

  /** Sends reports; what is known then. */
  async function send(reports) {
    const response = await fetch("/survey", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ form, reports: reports.join("") }),
    });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  }

  async function answer(true_answers, words) {
    const reports = true_answers.map(randomise);
    let told;
    try {
      told = await send(reports);
    } catch (e) {
      said.textContent = `Nothing is known of the answer: ${e.message}`;
      return;
    }
    for (const a of true_answers) truth[a] += 1;
    localStorage.setItem(key, JSON.stringify(truth));
    draw(told);
    said.textContent = words(reports);
  }

  page.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = page.querySelector("input[name=answer]:checked");
    if (chosen === null) {
      said.textContent = "Choose an answer first.";
      return;
    }
    const mine = Number(chosen.value);
    chosen.checked = false;
    answer([mine], ([sent]) => `Your answer stays in this browser. What was sent is "${names[sent]}", whether or not it is what you said.`);
  });

  // Half say the first, and each of the others is said by half of who is left.
  const made_up = () => Array.from({ length: CROWD }, () => Math.min(k - 1, Math.clz32(below(STEPS))));
  document.getElementById("crowd").addEventListener("click", () => {
    answer(made_up(), () => `${CROWD.toLocaleString("en")} made-up people answered in this browser, and each answer was changed at random before it was sent.`);
  });

  globalThis.survey = { randomise };
  send([]).then(draw).catch((e) => (said.textContent = e.message));
})();
