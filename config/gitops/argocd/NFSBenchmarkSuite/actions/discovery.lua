local status = obj.status or {}
local scheduled = obj.spec.schedule ~= nil
local finished = status.phase == "Succeeded" or status.phase == "Failed" or status.phase == "Cancelled"
local over = finished and not scheduled
local suspended = obj.spec.suspend == true or (scheduled and obj.spec.schedule.suspend == true)
local broken = status.phase == "Failed" or status.phase == "Cancelled"

return {
  ["suspend"] = { disabled = over or suspended, displayName = "Suspend", iconClass = "fa fa-fw fa-pause" },
  ["resume"] = { disabled = over or not suspended, displayName = "Resume", iconClass = "fa fa-fw fa-play" },
  ["stop"] = { disabled = status.phase ~= "Running" or obj.spec.shutdown ~= nil, displayName = "Stop the run", iconClass = "fa fa-fw fa-stop" },
  ["rerun"] = { disabled = not over, displayName = "Run again", iconClass = "fa fa-fw fa-redo" },
  ["resubmit"] = { disabled = not broken, displayName = "Go on where the run ended", iconClass = "fa fa-fw fa-forward" },
  ["accept-run"] = { disabled = status.regression == nil, displayName = "Accept the newest run", iconClass = "fa fa-fw fa-check" },
}
