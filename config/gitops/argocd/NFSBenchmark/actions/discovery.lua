local phase = obj.status and obj.status.phase
local finished = phase == "Succeeded" or phase == "Failed" or phase == "Cancelled"
local suspended = obj.spec.suspend == true

return {
  ["stop"] = { disabled = finished or suspended, displayName = "Stop, or hold back before it starts", iconClass = "fa fa-fw fa-stop" },
  -- A run that was stopped is over: only one that has not begun can be resumed.
  ["resume"] = { disabled = finished or not suspended, displayName = "Resume", iconClass = "fa fa-fw fa-play" },
}
