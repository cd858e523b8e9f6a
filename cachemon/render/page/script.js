// SPDX-License-Identifier: BSD-2-Clause
// What a page does beside being read: tables sort and filter, pictures over time zoom, code is copied.
// All of it is there without this, too.
"use strict";

(() => {
const make = (name, attributes, text) => {
	const e = document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {}))
		e.setAttribute(key, value);
	if (text)
		e.textContent = text;
	return e;
};

// "1,234", ">=12.3 KiB", "~4.2 s", "3m 07s", "-": what a cell stands for; NaN for words.
const UNITS = {ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30,
	TiB: 2 ** 40, PiB: 2 ** 50, EiB: 2 ** 60, "%": 1,
	k: 1e3, M: 1e6, G: 1e9, T: 1e12};
const number = text => {
	const t = text.replace(/^[~<>=]+/, "").replace(/,/g, "").trim();
	const long = /^(\d+)(h|m) (\d+)(m|s)$/.exec(t);
	if (long)
		return long[1] * (long[2] === "h" ? 3600 : 60) + long[3] * (long[4] === "m" ? 60 : 1);
	const m = /^([+-]?[\d.]+)(?:\s+(\S+)|([kMGT]))?$/.exec(t);
	return m ? parseFloat(m[1]) * (UNITS[m[2] || m[3]] || 1) : NaN;
};

const sortBy = (table, head, column) => {
	const down = head.getAttribute("aria-sort") !== "descending";
	const rows = [...table.tBodies[0].rows];
	const key = row => row.cells[column].textContent;
	const compare = (a, b) => {
		const x = number(key(a)), y = number(key(b));
		if (isNaN(x) && isNaN(y))
			return (down ? -1 : 1) * key(a).localeCompare(key(b));
		if (isNaN(x) || isNaN(y)) // what is not known is last either way
			return isNaN(x) ? 1 : -1;
		return down ? y - x : x - y;
	};
	for (const other of table.tHead.rows[0].cells)
		if (other.hasAttribute("aria-sort"))
			other.setAttribute("aria-sort", "none");
	head.setAttribute("aria-sort", down ? "descending" : "ascending");
	table.tBodies[0].append(...rows.sort(compare));
};

const sortable = table => {
	[...table.tHead.rows[0].cells].forEach((head, column) => {
		if (!head.textContent)
			return;
		const button = make("button", {type: "button"}, head.textContent);
		head.textContent = "";
		head.append(button);
		head.setAttribute("aria-sort", "none");
		button.addEventListener("click", () => sortBy(table, head, column));
	});
};

// A long table shows its first rows, in whatever order, until all are asked for.
const shortened = (table, box) => {
	const button = make("button", {type: "button", class: "more"}, `Show all ${table.tBodies[0].rows.length}`);
	const set = short => {
		table.classList.toggle("short", short);
		button.hidden = !short;
	};
	button.addEventListener("click", () => {
		set(false);
		box.focus(); // the button is gone
	});
	box.after(button);
	set(true);
	return set;
};

const filterable = (table, box, short) => {
	const label = make("label", {class: "filter"}, "Only rows with ");
	const input = make("input", {type: "search"});
	const told = make("span", {role: "status"});
	label.append(input, " ", told);
	input.addEventListener("input", () => {
		const wanted = input.value.toLowerCase();
		let shown = 0;
		for (const row of table.tBodies[0].rows) {
			row.hidden = !row.textContent.toLowerCase().includes(wanted);
			shown += !row.hidden;
		}
		short(!wanted);
		told.textContent = wanted ? `${shown} of ${table.tBodies[0].rows.length}` : "";
	});
	box.before(label);
};

for (const box of document.querySelectorAll(".scroll")) {
	const table = box.querySelector("table.things");
	if (!table || table.tBodies[0].rows.length < 3)
		continue;
	sortable(table);
	if (table.tBodies[0].rows.length > 12)
		filterable(table, box, table.matches(".whole") ? () => {} : shortened(table, box));
}

for (const pre of document.querySelectorAll(".code pre")) {
	const button = make("button", {type: "button", class: "copy"}, "Copy");
	button.addEventListener("click", async () => {
		const range = document.createRange();
		range.selectNodeContents(pre);
		getSelection().removeAllRanges();
		getSelection().addRange(range);
		// From a file there may be no clipboard: then it is selected at least.
		try {
			await navigator.clipboard.writeText(pre.textContent);
			button.textContent = "Copied";
		} catch {
			button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
		}
	});
	pre.before(button);
}

// Round places of an axis of seconds, and what they are called: as those of the whole axis, which are not made here.
const STEPS = [20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
const stepOf = (length, most) => {
	const power = 10 ** Math.floor(Math.log10(length / most));
	const steps = [1, 2, 2.5, 5, 10].map(part => part * power);
	return (length > 60 && STEPS.find(s => s * most >= length)) || steps.find(s => s * most >= length * 0.999999);
};
const clock = (s, step) => {
	const digits = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step)) + (step % (10 ** Math.floor(Math.log10(step))) ? 1 : 0)));
	const rest = x => String(parseFloat(x.toFixed(digits)));
	if (s < 60)
		return s > 0 ? `${rest(s)} s` : "0 s";
	const h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60, r = rest(s % 60);
	return [h ? `${h}h` : "", m || !h ? `${m}m` : "", r > 0 ? `${r}s` : ""].filter(Boolean).join(" ");
};

// Zoom: a part [from, to] of the axis, 0 to 1. All panels of a picture show the same part, and so do two
// pictures beside each other, which have the same axis.
const views = new Map();
const viewOf = picture => {
	const of = picture.closest(".pair") || picture;
	if (!views.has(of))
		views.set(of, {from: 0, to: 1, shows: []});
	return views.get(of);
};

const zoomable = picture => {
	const shapes = [...picture.querySelectorAll(".shapes")];
	const plot = picture.querySelector(".plot");
	if (!plot)
		return;
	const axis = picture.querySelector(".axis"), whole = [...axis.children];
	const [begin, end] = picture.dataset.zoom.split(" ").map(Number);
	const ticks = (from, to) => {
		const step = stepOf(to - from, 6), found = [];
		for (let at = Math.ceil(from / step - 1e-6) * step; at <= to + step * 1e-6; at += step)
			found.push(at);
		return found.map((at, i) => {
			const share = (at - from) / (to - from);
			const t = document.createElementNS(axis.namespaceURI, "text");
			t.setAttribute("class", found.length > 3 && i % 2 ? "t2" : "t4");
			t.setAttribute("x", `${share * 100}%`);
			t.setAttribute("y", 12);
			t.setAttribute("text-anchor", share < 0.05 ? "start" : share > 0.95 ? "end" : "middle");
			t.textContent = clock(at, step);
			return t;
		});
	};
	const wide = shapes[0].viewBox.baseVal.width;
	const view = viewOf(picture);
	view.shows.push(() => {
		const {from, to} = view;
		for (const s of shapes) {
			const high = s.viewBox.baseVal.height;
			s.setAttribute("viewBox", `${from * wide} 0 ${(to - from) * wide} ${high}`);
		}
		const all = to - from > 0.999, length = end - begin;
		const first = begin + from * length, last = begin + to * length;
		axis.replaceChildren(...all ? whole : ticks(first, last));
		const near = stepOf(last - first, 40);
		told.textContent = all ? "" : `showing ${clock(first, near)} to ${clock(last, near)}`;
	});
	const set = (middle, length) => {
		length = Math.min(1, Math.max(0.01, length));
		view.from = Math.min(1 - length, Math.max(0, middle - length / 2));
		view.to = view.from + length;
		for (const show of view.shows)
			show();
	};
	// By steps of what is shown: how far, and how much of it then.
	const step = (far, much) => () => set((view.from + view.to) / 2 + far * (view.to - view.from), much * (view.to - view.from));
	const bar = make("div", {class: "zoom", role: "group", "aria-label": "Zoom along the time"});
	// Who hears the page hears it once of two.
	const told = make("span", view.shows.length === 1 ? {role: "status"} : {});
	const actions = [["Zoom in", step(0, 0.5)], ["Zoom out", step(0, 2)], ["Earlier", step(-0.5, 1)],
		["Later", step(0.5, 1)], ["All", () => set(0.5, 1)]];
	for (const [name, act] of actions) {
		const button = make("button", {type: "button"}, name);
		button.addEventListener("click", act);
		bar.append(button);
	}
	bar.append(told);
	picture.before(bar);
	// A part is also chosen by drawing over it.
	let pressed = null;
	const place = e => {
		const box = plot.getBoundingClientRect();
		return view.from + Math.min(1, Math.max(0, (e.clientX - box.left) / box.width)) * (view.to - view.from);
	};
	picture.addEventListener("pointerdown", e => { if (e.button === 0) pressed = place(e); });
	picture.addEventListener("pointerup", e => {
		if (pressed === null)
			return;
		const to = place(e);
		if (Math.abs(to - pressed) > (view.to - view.from) * 0.02)
			set((pressed + to) / 2, Math.abs(to - pressed));
		pressed = null;
	});
};

for (const picture of document.querySelectorAll("[data-zoom]"))
	zoomable(picture);

// What is drawn where the pointer is, from the row of the table behind the picture; where a row tells its end,
// nothing is drawn from there to the next.
const nothingAt = (at, rows, row) => {
	if (at < rows[0][0])
		return "not recorded";
	if (!row.dataset.end || at <= parseFloat(row.dataset.end))
		return "";
	return row === rows.at(-1)[1] ? `ended at ${row.cells[1].textContent}` : "not recorded";
};

const told = picture => {
	const plots = [...picture.querySelectorAll(".plot")];
	const table = picture.parentNode.querySelector(".numbers table");
	if (!plots.length || !table)
		return;
	const heads = [...table.tHead.rows[0].cells].map(c => c.textContent);
	const rows = [...table.tBodies[0].rows].map(row => [parseFloat(row.dataset.x), row]);
	const tip = make("div", {class: "tip", "aria-hidden": "true"});
	const hair = make("div", {class: "hair"});
	const hide = () => { tip.hidden = hair.hidden = true; };
	hide();
	picture.append(tip, hair);
	const show = e => {
		const all = picture.getBoundingClientRect(), box = plots[0].getBoundingClientRect();
		const view = plots[0].querySelector(".shapes").viewBox.baseVal;
		const share = (e.clientX - box.left) / box.width;
		if (share < 0 || share > 1)
			return hide();
		const at = (view.x + share * view.width) / 12000;
		const [, row] = rows.findLast(([x]) => x <= at) || rows[0];
		const none = nothingAt(at, rows, row);
		const list = make("dl");
		if (!none)
			[...row.cells].forEach((cell, i) => list.append(make("dt", {}, heads[i]), make("dd", {}, cell.textContent)));
		tip.replaceChildren(none || list);
		tip.hidden = hair.hidden = false;
		const x = e.clientX - all.left;
		const left = x + 14 + tip.offsetWidth < all.width ? x + 14 : Math.max(0, x - 14 - tip.offsetWidth);
		tip.style.left = `${left}px`;
		tip.style.top = `${Math.max(0, Math.min(e.clientY - all.top - 20, all.height - tip.offsetHeight))}px`;
		hair.style.left = `${x}px`;
		hair.style.top = `${box.top - all.top}px`;
		hair.style.height = `${plots.at(-1).getBoundingClientRect().bottom - box.top}px`;
	};
	picture.addEventListener("pointermove", show);
	picture.addEventListener("pointerleave", hide);
	addEventListener("keydown", e => { if (e.key === "Escape") hide(); });
};

for (const picture of document.querySelectorAll(".picture"))
	told(picture);

// Who goes to a part wants to read it.
const open = () => {
	const fold = location.hash.length > 1 && document.getElementById(location.hash.slice(1))?.querySelector("details");
	if (fold)
		fold.open = true;
};
addEventListener("hashchange", open);
for (const link of document.querySelectorAll("nav a"))
	link.addEventListener("click", () => setTimeout(open));
open();

// On paper everything that was worth folding is worth reading; behind that it is as it was.
let opened = [];
addEventListener("beforeprint", () => {
	opened = [...document.querySelectorAll("details:not([open]):not(.numbers)")];
	for (const d of opened)
		d.open = true;
});
addEventListener("afterprint", () => {
	for (const d of opened)
		d.open = false;
});
})();
