"""Schedules of CronJobs, for the controller and for the embedded server's checks. No I/O but the files of time zones.

====================  ====================================================================================
:mod:`schedule`       parses a schedule, and computes the times of its runs
:mod:`zones`          time zones by name, and local times around a change of the clock
====================  ====================================================================================
"""
