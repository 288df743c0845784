// The pool as a map: hosts, and a cell for each GPU.
import { Component } from 'preact'
import { useState } from 'preact/hooks'
import { attribute, gpusOf, hueOf, idOf, mib, nameOf, plural } from './format.js'
import { html } from './parts.js'

const views = { team: 'Task', use: 'Utilization', memory: 'Memory', health: 'Health' }

// states of GPUs, in the order of the legend.
const states = ['free', 'taken', 'shared', 'draining', 'partitioning', 'quarantined', 'sick', 'down']

// stateOf says what a GPU is to the scheduler. task is the one that has it.
function stateOf(gpu, host, task) {
  if (gpu.health === 'QUARANTINED') return 'quarantined'
  if (gpu.health && gpu.health !== 'HEALTHY') return 'sick'
  if (host && host.connected === false) return 'down'
  if (gpu.partition) return 'partitioning'
  if (gpu.shares && gpu.shares.length) return 'shared'
  if (task) return 'taken'
  if (host && host.status === 'DRAINING') return 'draining'
  return 'free'
}

const differ = (a, b, names) => names.some(name => a[name] !== b[name])

// HostCells is a host with its cells, drawn anew when what it shows has changed: there may be hundreds, of which few change at a time.
class HostCells extends Component {
  shouldComponentUpdate({ host, cells, by }) {
    const shown = this.props
    return by !== shown.by || differ(host, shown.host, ['name', 'status', 'connected', 'tasks']) || cells.length !== shown.cells.length || cells.some((c, i) => differ(c, shown.cells[i], ['gpu', 'arn', 'state', 'usage']))
  }

  render({ host, cells, by }) {
    return html`
      <section class=${'host' + (host.connected ? '' : ' away')}>
        <h3><a href=${'#/hosts/' + host.id}>${host.name}</a><span>${host.connected ? host.status === 'ACTIVE' ? '' : host.status.toLowerCase() : 'not heard of'}</span></h3>
        <div class="cells">${cells.length ? cells.map(c => cell({ ...c, by })) : html`<span class="hint">no GPUs</span>`}</div>
        <p class="hint">${plural(host.tasks || 0, 'task')}</p>
      </section>`
  }
}

function cell({ gpu, task, state, usage, by }) {
  const id = task && idOf(task.taskArn), definition = task && nameOf(task.taskDefinitionArn)
  const part = by === 'use' ? usage && usage.utilization : by === 'memory' ? usage && gpu.memoryMiB && Math.round(100 * usage.memoryUsedMiB / gpu.memoryMiB) : undefined
  const words = [`GPU ${gpu.index} of ${gpu.host}`, gpu.model, state, task && `task ${definition} ${id.slice(0, 12)}`,
    usage && usage.utilization !== undefined && `${usage.utilization} % used`, usage && usage.memoryUsedMiB !== undefined && `${mib(usage.memoryUsedMiB)} of ${mib(gpu.memoryMiB)}`, gpu.migDevice && `MIG ${gpu.migDevice.profile}`, gpu.problem].filter(Boolean)
  const style = by === 'team' && state === 'taken' ? { '--hue': hueOf(definition) } : part !== undefined ? { '--part': part } : {}
  const kind = part !== undefined && (state === 'taken' || state === 'shared') ? 'part' : by === 'health' && !['sick', 'quarantined', 'down'].includes(state) ? 'healthy' : state
  return html`<a key=${gpu.uuid} tabindex="-1" class=${'cell ' + kind} style=${style} title=${words.join('\n')} aria-label=${words.join(', ')} href=${task ? '#/tasks/' + id : '#/hosts/' + gpu.hostId}>${part !== undefined ? part : ''}</a>`
}

export function Pool({ store }) {
  const [by, set] = useState('team')
  const byHost = new Map(store.hosts.map(h => [h.id, []]))
  const count = {}
  for (const gpu of store.gpus) {
    const task = store.holderOf(gpu)
    const state = stateOf(gpu, store.hostByID.get(gpu.hostId), task)
    count[state] = (count[state] || 0) + 1
    if (!byHost.has(gpu.hostId)) byHost.set(gpu.hostId, [])
    byHost.get(gpu.hostId).push({ gpu, task, arn: task && task.taskArn, state, usage: store.usage.get(gpu.uuid) })
  }
  const racks = new Map()
  for (const host of store.hosts) {
    const attributes = { ...host.attributes, ...host.custom }
    const rack = attributes.rack || attributes['ecs.availability-zone'] || ''
    if (!racks.has(rack)) racks.set(rack, [])
    racks.get(rack).push(host)
  }
  const waiting = store.queue.reduce((n, item) => n + (item.tasks || 1), 0)
  let running = 0
  for (const task of store.tasks.values()) if (task.lastStatus === 'RUNNING') running++
  return html`
    <div class="figures">
      <div><b>${store.gpus.length}</b>${store.gpus.some(g => g.simulated) ? 'GPUs, some simulated' : 'GPUs'}</div>
      <div><b>${count.free || 0}</b>free</div>
      <div class=${count.sick || count.down || count.quarantined ? 'bad' : ''}><b>${(count.sick || 0) + (count.down || 0) + (count.quarantined || 0)}</b>not usable</div>
      <div><b>${store.hosts.length}</b>hosts</div>
      <div><b>${running}</b>running</div>
      <div><b>${waiting}</b>waiting</div>
    </div>
    <div class="choices" role="group" aria-label="Colour of the GPUs">${Object.entries(views).map(([name, text]) => html`
      <button aria-pressed=${by === name} onClick=${() => set(name)}>${text}</button>`)}</div>
    ${[...racks].sort(([a], [b]) => a.localeCompare(b, undefined, { numeric: true })).map(([rack, members]) => html`
      ${racks.size > 1 && html`<h2>${rack ? 'Rack ' + rack : 'No rack'}</h2>`}
      <div class="map">${members.map(host => html`<${HostCells} key=${host.id} host=${host} cells=${byHost.get(host.id)} by=${by} />`)}</div>`)}
    <p class="legend">${states.map(s => html`<span><i class=${'cell ' + s} style=${{ '--hue': 210 }}></i>${s}</span>`)}</p>`
}

// gpuWord is how many GPUs a task has, as its list shows it; in parentheses how many it asks for while it waits, or which ones will do.
export const gpuWord = task => {
  const n = gpusOf(task)
  if (task.containerInstanceArn) return n ? String(n) : ''
  const choices = attribute(task, 'pinion.gpu-alternatives') || n
  return choices ? `(${choices})` : ''
}
