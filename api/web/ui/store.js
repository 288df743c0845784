// What is known of the pool: read once, then kept up to date by its events. Whoever shows it is told of changes once a frame.
import { Refused } from './api.js'
import { idOf, millis } from './format.js'

const sleep = (ms, signal) => new Promise(resolve => {
  const timer = setTimeout(resolve, ms)
  signal.addEventListener('abort', () => { clearTimeout(timer); resolve() }, { once: true })
})

// unknown are the errors that a key gets which is none any more.
const unknown = ['UnrecognizedClientException', 'ExpiredTokenException', 'InvalidSignatureException', 'SignatureDoesNotMatch']

// pause is the least time between two readings of the same list, in milliseconds: many changes come together.
const pause = { hosts: 2000, gpus: 5000, queue: 1000, services: 1000 }
const frame = 100 // between two drawings, in milliseconds
const maxEvents = 500 // that are kept to be shown
const stoppedFor = 3600 * 1000 // for how long stopped tasks are kept

export class Store {
  constructor(client) {
    this.client = client
    this.me = null
    this.hosts = []
    this.gpus = []
    this.usage = new Map() // by UUID
    this.tasks = new Map() // by id
    this.holders = new Map() // tasks by the UUIDs of their GPUs
    this.services = new Map() // by ARN
    this.queue = []
    this.clusters = []
    this.events = [] // the newest first
    this.connected = false
    this.last = undefined // id of the last event: a stream that breaks off goes on from there
    this.problem = ''
    this.ready = false
    this.listeners = new Set()
    this.waiting = new Map() // timers of what is to be read anew
    this.readAt = {} // when it was read
    this.end = new AbortController()
  }

  // subscribe returns the function that ends it.
  subscribe(listener) {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  changed() {
    if (this.scheduled) return
    this.scheduled = true
    setTimeout(() => {
      this.scheduled = false
      for (const listener of this.listeners) listener()
    }, document.hidden ? 1000 : frame)
  }

  // run keeps everything up to date until stop.
  async run() {
    this.poll()
    while (!this.end.signal.aborted) {
      try {
        await this.follow()
        this.problem = 'The host has ended the stream of events.'
      } catch (problem) {
        if (this.end.signal.aborted) return
        this.problem = problem.message
        if (problem instanceof Refused) this.last = undefined // too old to go on from, maybe
        if (problem instanceof Refused && unknown.includes(problem.kind)) {
          this.refused = problem
          this.stop()
        }
      }
      this.connected = false
      this.changed()
      await sleep(1000, this.end.signal)
    }
  }

  stop() { this.end.abort() }

  // follow reads everything, and then every change since. What changes in between comes with the events: they begin before.
  async follow() {
    this.me = await this.client.get('/v1/whoami')
    const stream = new AbortController()
    this.end.signal.addEventListener('abort', () => stream.abort(), { once: true })
    let loaded = false
    const early = []
    const following = this.client.events({ since: this.last }, event => loaded ? this.take(event) : early.push(event), stream.signal)
    following.catch(() => {})
    try {
      await this.load()
    } catch (problem) {
      stream.abort()
      throw problem
    }
    loaded = true
    early.forEach(event => this.take(event))
    this.connected = this.ready = true
    this.problem = ''
    this.refused = null
    this.changed()
    await following
  }

  // holderOf is the task that has a GPU; of one that the user's key does not see, next to nothing.
  holderOf(gpu) {
    const known = this.holders.get(gpu.uuid)
    if (known || !gpu.task || this.tasks.has(gpu.task)) return known
    return { taskArn: gpu.task, taskDefinitionArn: gpu.definition || '' }
  }

  async load() {
    this.clusters = (await this.client.operation('ListClusters', {})).clusterArns.map(idOf)
    await Promise.all(['hosts', 'gpus', 'queue', 'services'].map(what => this.read(what)))
    const tasks = new Map()
    for (const cluster of this.clusters) {
      for (const task of await this.client.tasks(cluster)) tasks.set(idOf(task.taskArn), task)
    }
    this.tasks = tasks
    this.holders = new Map()
    for (const task of tasks.values()) this.hold(task)
  }

  // hold notes whose the GPUs of a task are: the list of GPUs is read more seldom than tasks change.
  hold(task) {
    for (const container of task.containers || []) {
      for (const uuid of container.gpuIds || []) {
        if (task.lastStatus !== 'STOPPED') this.holders.set(uuid, task)
        else if (this.holders.has(uuid) && this.holders.get(uuid).taskArn === task.taskArn) this.holders.delete(uuid)
      }
    }
  }

  async read(what) {
    switch (what) {
      case 'hosts': this.hosts = await this.client.get('/v1/hosts'); break
      case 'gpus': this.gpus = await this.client.get('/v1/gpus'); break
      case 'queue': this.queue = await this.client.get('/v1/queue'); break
      case 'services': await this.readServices(); break
    }
    this.changed()
  }

  async readServices() {
    const all = new Map()
    for (const cluster of this.clusters) {
      for (let nextToken; ;) {
        const page = await this.client.operation('ListServices', { cluster, nextToken, maxResults: 10 })
        if (page.serviceArns.length) {
          const { services } = await this.client.operation('DescribeServices', { cluster, services: page.serviceArns })
          services.forEach(s => all.set(s.serviceArn, s))
        }
        nextToken = page.nextToken
        if (!nextToken) break
      }
    }
    this.services = all
  }

  // take takes a change over.
  take({ id, kind, time, detail }) {
    this.last = id
    if (!detail) return
    this.events.unshift({ id, kind, time, detail })
    if (this.events.length > maxEvents) this.events.length = maxEvents
    switch (kind) {
      case 'task': this.takeTask(detail); break
      case 'host': this.soon('hosts', 'gpus'); break
      case 'gpu': this.soon('gpus'); break
      case 'leader': this.soon('hosts'); break
      case 'cluster': if (!this.clusters.includes(detail.clusterName)) this.clusters.push(detail.clusterName); break
      default: if (kind.startsWith('service') || kind.startsWith('deployment')) this.soon('services')
    }
    this.changed()
  }

  takeTask(task) {
    const id = idOf(task.taskArn)
    const known = this.tasks.get(id)
    if (known && known.version > task.version) return
    this.tasks.set(id, task)
    this.hold(task)
    this.soon('hosts')
    if (task.lastStatus === 'PROVISIONING' || !known || known.lastStatus === 'PROVISIONING') this.soon('queue')
    if ((task.group || '').startsWith('service:')) this.soon('services')
  }

  // soon reads lists anew: each once for the changes of a moment, and no more often than its pause allows.
  soon(...all) {
    for (const what of all) {
      if (this.waiting.has(what)) continue
      const wait = Math.max(50, (this.readAt[what] || 0) + pause[what] - performance.now())
      this.waiting.set(what, setTimeout(async () => {
        try {
          if (!this.end.signal.aborted) await this.read(what)
        } catch { /* the stream of events says so too */ }
        this.readAt[what] = performance.now()
        this.waiting.delete(what)
      }, wait))
    }
  }

  // poll reads what no event tells: how GPUs are used, which hosts are heard of, and forgets old tasks.
  async poll() {
    for (let round = 0; !this.end.signal.aborted; round++) {
      if (!document.hidden && this.ready) {
        try {
          const { gpus } = await this.client.get('/v1/gpus/usage')
          this.usage = new Map(gpus.map(u => [u.uuid, u]))
          if (round % 3 === 0) this.soon('hosts', 'gpus', 'queue')
        } catch { /* likewise */ }
        const old = Date.now() - stoppedFor
        for (const [id, task] of this.tasks) if (task.lastStatus === 'STOPPED' && millis(task.stoppedAt) < old) this.tasks.delete(id)
        this.changed()
      }
      await sleep(5000, this.end.signal)
    }
  }
}
