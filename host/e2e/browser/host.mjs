// A host with the embedded cluster, and a browser.

import { execFileSync, spawn } from 'node:child_process';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { chromium } from 'playwright-core';

const names = ['INFORMANT_BIN', 'INFORMANT_PLUGINS', 'INFORMANT_TEST_GUESTS', 'INFORMANT_WORK'];
const [program, plugins, guests, directory] = names.map((name) => {
  if (!process.env[name]) throw new Error(`${name} is not set; run the suite with: make browser`);
  return process.env[name];
});

// Generous: a loaded machine compiles the plugins in a minute.
const READY_MILLISECONDS = 300_000;

const GUESTS = ['moods.wasm'];

// A host in a directory of its own, with these of the built plugins and test guests, and these files by name and text.
export class Host {
  static async start(name, files, options = [], written = {}) {
    const place = `${directory}/${name}`;
    await rm(place, { recursive: true, force: true });
    await mkdir(`${place}/plugins`, { recursive: true });
    for (const file of files) await cp(`${GUESTS.includes(file) ? guests : plugins}/${file}`, `${place}/plugins/${file}`);
    for (const [file, text] of Object.entries(written)) await writeFile(`${place}/plugins/${file}`, text);
    const host = new Host(place, await freePort(), options);
    await host.again();
    return host;
  }

  constructor(place, port, options) {
    Object.assign(this, { place, port, options, url: `http://127.0.0.1:${port}` });
  }

  async again() {
    const options = ['dev', 'plugins', '--listen', `127.0.0.1:${this.port}`, '--log-format', 'json', '--admin-socket', this.#socket,
      ...this.options];
    this.process = spawn(program, options, { cwd: this.place, stdio: 'ignore' });
    const deadline = Date.now() + READY_MILLISECONDS;
    for (;;) {
      if (Date.now() > deadline) throw new Error('the host does not become ready');
      if (this.process.exitCode !== null) throw new Error(`the host ended with ${this.process.exitCode}`);
      const ready = await fetch(`${this.url}/readyz`).then((answer) => answer.ok, () => false);
      if (ready) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  get #socket() {
    return `${this.place}/admin.sock`;
  }

  // What a command for this host prints.
  ask(...words) {
    return execFileSync(program, [...words, '--admin-socket', this.#socket], { encoding: 'utf8' }).trim();
  }

  async end() {
    if (this.process.exitCode !== null) return;
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGTERM');
    await ended;
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// Without its own look for updates and for Google's hosts.
export function browser() {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  return chromium.launch({ executablePath: process.env.CHROMIUM, args });
}
