// A command in a container of a task. pinion/api/exec/stream has the format of its messages.
const kinds = { input: 0, size: 2, keepAlive: 3, pause: 4, resume: 5, output: 16, errors: 17, exit: 18 }

const maxInput = 16 << 10 // bytes of a message
const most = 1 << 20 // bytes of output that wait to be shown; a browser cannot leave messages unread, so the host is told to hold more back
const keepAlive = 30000 // milliseconds, for proxies that end what they hear nothing of

const encoder = new TextEncoder()

const message = (kind, payload) => {
  const whole = new Uint8Array(1 + payload.length)
  whole[0] = kind
  whole.set(payload, 1)
  return whole
}

// run runs a command, which ends with signal. output is called with bytes of its output, and calls back once they are shown. The promise is kept with
// {exitCode}, or {error} where it has not ended by itself; it is broken when the command could not begin, or when the link was cut. opened is
// called with what sends input and sizes, which the host keeps for the command, and begun when the command writes for the first time.
export async function run(client, task, request, { opened, begun, output, signal }) {
  const { sessionId, tokenValue } = await client.post(`/v1/tasks/${task}/exec`, request)
  signal.throwIfAborted()
  const socket = new WebSocket(`wss://${location.host}/v1/data-channel/${encodeURIComponent(sessionId)}`)
  socket.binaryType = 'arraybuffer'
  const send = (kind, payload = []) => { if (socket.readyState === WebSocket.OPEN) socket.send(message(kind, payload)) }
  const beat = setInterval(() => send(kinds.keepAlive), keepAlive)
  const close = () => socket.close()
  signal.addEventListener('abort', close)
  try {
    return await new Promise((resolve, reject) => {
      let waiting = 0, held = false, heard = false
      const shown = bytes => {
        waiting -= bytes
        if (held && waiting < most / 4) { held = false; send(kinds.resume) }
      }
      socket.onopen = () => {
        socket.send(JSON.stringify({ TokenValue: tokenValue }))
        opened({
          input(bytes) { for (let at = 0; at < bytes.length; at += maxInput) send(kinds.input, bytes.subarray(at, at + maxInput)) },
          size: size => send(kinds.size, encoder.encode(JSON.stringify(size))),
        })
      }
      socket.onmessage = ({ data }) => {
        const bytes = new Uint8Array(data), payload = bytes.subarray(1)
        if (bytes[0] === kinds.exit) resolve(JSON.parse(new TextDecoder().decode(payload)))
        if (bytes[0] !== kinds.output && bytes[0] !== kinds.errors) return
        if (!heard) { heard = true; begun() }
        waiting += payload.length
        if (!held && waiting > most) { held = true; send(kinds.pause) }
        output(payload, () => shown(payload.length))
      }
      socket.onclose = ({ reason }) => reject(new Error(reason ? `The host has ended the session: ${reason}.` : 'The link to the host was cut, and the command ends with it.'))
    })
  } finally {
    clearInterval(beat)
    signal.removeEventListener('abort', close)
    close()
  }
}
