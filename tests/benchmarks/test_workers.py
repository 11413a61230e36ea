"""Figures on two workers tell about rounds that were measured."""

from benchmarks.workers import Run, figures


def test_figures_tell_the_rate_the_processors_allow_and_the_processor_time() -> None:
    one, two = Run(rate=10_000, work=80, client=20), Run(rate=16_000, work=84, client=20)
    slow = Run(rate=5_000, work=80, client=20)

    rate, most, work = figures([(two, one), (two, one), (slow, one)], processors=2)

    assert (rate.measured, rate.yardstick, rate.ratio, rate.met) == (
        "16,000/s",
        "10,000/s",
        1.6,
        False,
    )
    # Each request takes 84 + 20 us of two processors, and one worker 80 us of one.
    assert most.measured == "1.54x"
    assert (work.measured, work.yardstick, work.ratio, work.met) == ("84 us", "80 us", 1.05, True)


def test_two_workers_are_not_expected_to_do_more_than_twice_as_much() -> None:
    run = Run(rate=10_000, work=80, client=20)

    assert figures([(run, run)], processors=16)[1].measured == "2.00x"
